module

public import ProofKV.Lemmas.TV

/-! A two-token instance over the rationals, on which the theorems are shown not to be vacuous. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- Two tokens. -/
@[expose] def tok : List Bool := [true, false]

/-- Equal compressed weights. -/
@[expose] def half : Bool → Rat := fun _ => 1 / 2

/-- Ratio bounds 2 and 3. -/
@[expose] def rad : Bool → Rat := fun b => if b then 2 else 3

/-- Ratios at opposite ends of the bounds. -/
@[expose] def ext : Bool → Rat := fun b => if b then 2 else 1 / 3

/-- The two equal weights are a distribution. -/
theorem half_isDist : IsDist tok half where
  nonneg i _ := by simp only [half]; grind
  total := by simp only [tok, half, sumOver]; grind

/-- The ratios respect their bounds. -/
theorem ext_inRatio : InRatio tok rad ext where
  one_le i _ := by cases i <;> simp [rad] <;> grind
  lower i _ := by cases i <;> simp [rad, ext] <;> grind
  upper i _ := by cases i <;> simp [rad, ext] <;> grind

/-- Half of every token is a share. -/
theorem isShare_half : IsShare tok half := by
  intro i _
  simp only [half]; grind

end ProofKV
end

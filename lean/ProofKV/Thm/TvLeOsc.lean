module

public import ProofKV.Lemmas.TVBounds
public import ProofKV.Lemmas.Witness

/-! The oscillation bound: only pairwise quotients of the ratios count. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Oscillation bound**: if no ratio exceeds another by more than the factor `κ²`, the total variation distance is at
most `(κ - 1) / (κ + 1)`. A common factor of all ratios drops out. -/
theorem tv_le_osc {I : List ι} {p w : ι → α} {κ : α}
    (hp : IsDist I p)
    (hκ : 1 ≤ κ)
    (hw : ∀ i ∈ I, 0 < w i)
    (hosc : ∀ i ∈ I, ∀ j ∈ I, w i ≤ κ * κ * w j) :
    tv I (tilt I p w) p ≤ (κ - 1) / (κ + 1) :=
  tv_le_of_osc hp hκ hw hosc

example : tv tok (tilt tok half ext) half ≤ (3 - 1) / (3 + 1) :=
  tv_le_osc half_isDist (by grind) ext_inRatio.pos fun i _ j _ => by cases i <;> cases j <;> simp [ext] <;> grind

end ProofKV
end

module

public import ProofKV.Lemmas.Sampling

/-! The variance of the Horvitz-Thompson total. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Variance**: the expected squared error of the Horvitz-Thompson estimate is `∑ (1 - π) / π y²`. -/
theorem variance_htTotal {I : List ι} {π y : ι → α}
    (hπ : ∀ i ∈ I, π i ≠ 0) :
    expect π I (fun s => (htTotal π y s - sumOver I y) * (htTotal π y s - sumOver I y)) =
      sumOver I fun i => (1 - π i) / π i * (y i * y i) := by
  have h := expect_sq π (fun i => y i / π i) I (- sumOver I y)
  have e1 : (sumOver I fun i => π i * (y i / π i)) = sumOver I y :=
    sumOver_congr fun i hi => by have := hπ i hi; grind
  have e2 : (sumOver I fun i => π i * (1 - π i) * (y i / π i * (y i / π i))) =
      sumOver I fun i => (1 - π i) / π i * (y i * y i) :=
    sumOver_congr fun i hi => by have := hπ i hi; grind
  rw [e1, e2] at h
  have e3 : (fun s => (htTotal π y s - sumOver I y) * (htTotal π y s - sumOver I y)) =
      fun s => (- sumOver I y + sumOver s fun i => y i / π i) * (- sumOver I y + sumOver s fun i => y i / π i) := by
    funext s; unfold htTotal; grind
  rw [e3, h]
  grind

example : expect incl [true, false] (fun s => (htTotal incl (fun _ => 1) s - sumOver [true, false] fun _ => 1) *
    (htTotal incl (fun _ => 1) s - sumOver [true, false] fun _ => 1)) = 4 := by
  rw [variance_htTotal incl_ne_zero]; simp [sumOver, incl]; grind

end ProofKV
end

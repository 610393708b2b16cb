module

public import ProofKV.Lemmas.Prob

/-! The variance of the Horvitz–Thompson estimate. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Horvitz–Thompson variance**: the mean squared error of the estimate is the sum of `(1 - π) / π · y²`. -/
theorem ht_variance_eq {I : List ι} {π y : ι → α}
    (hπ : ∀ i ∈ I, π i ≠ 0) :
    expect π I (fun S => (horvitzThompson π y S - sumOver I y) * (horvitzThompson π y S - sumOver I y)) =
      sumOver I fun i => (1 - π i) / π i * (y i * y i) := by
  have h := expect_ht_sq hπ (y := y) (- sumOver I y)
  have e : (fun S => (- sumOver I y + horvitzThompson π y S) * (- sumOver I y + horvitzThompson π y S)) =
      fun S => (horvitzThompson π y S - sumOver I y) * (horvitzThompson π y S - sumOver I y) := by funext S; grind
  rw [e] at h
  rw [h]
  grind

example : expect (fun _ : Bool => (1 / 2 : Rat)) [true] (fun S => (horvitzThompson (fun _ => 1 / 2) (fun _ => 3) S - sumOver [true] fun _ => 3) *
    (horvitzThompson (fun _ => 1 / 2) (fun _ => 3) S - sumOver [true] fun _ => 3)) = sumOver [true] fun _ => (1 - 1 / 2) / (1 / 2) * (3 * 3) :=
  ht_variance_eq fun _ _ => by grind

end ProofKV
end

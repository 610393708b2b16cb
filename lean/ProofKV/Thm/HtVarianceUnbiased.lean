module

public import ProofKV.Lemmas.Prob

/-! The variance estimate from the sample is unbiased. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Variance estimate**: the sum of `(1 - π) / π² · y²` over the sample has mean the variance. -/
theorem ht_variance_unbiased {I : List ι} {π y : ι → α}
    (hπ : ∀ i ∈ I, π i ≠ 0) :
    expect π I (htVariance π y) = sumOver I fun i => (1 - π i) / π i * (y i * y i) := by
  rw [← expect_sum_div hπ]
  unfold expect
  refine sumOver_congr fun s _ => ?_
  congr 1
  unfold htVariance
  exact sumOver_congr fun i _ => by
    have e : (1 - π i) / (π i * π i) = (1 - π i) / π i / π i := by
      by_cases h : π i = 0
      · rw [h]; have : (0 : α) * 0 = 0 := by grind
        rw [this]; simp only [Field.div_eq_mul_inv, Field.inv_zero]; grind
      · grind
    rw [e]
    grind

example : expect (fun _ : Bool => (1 / 2 : Rat)) [true] (htVariance (fun _ => 1 / 2) fun _ => 3) =
    sumOver [true] fun _ => (1 - 1 / 2) / (1 / 2) * (3 * 3) := ht_variance_unbiased fun _ _ => by grind

end ProofKV
end

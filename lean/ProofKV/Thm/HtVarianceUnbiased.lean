module

public import ProofKV.Lemmas.Sampling

/-! The variance estimate computed from the sample alone is unbiased. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Unbiased variance estimate**: the expectation of `∑ (1 - π) / π² y²` over the kept tokens is the variance
`∑ (1 - π) / π y²` of the Horvitz-Thompson estimate. -/
theorem expect_htVariance {I : List ι} {π y : ι → α}
    (hπ : ∀ i ∈ I, π i ≠ 0) :
    expect π I (htVariance π y) = sumOver I fun i => (1 - π i) / π i * (y i * y i) := by
  unfold htVariance
  rw [expect_sumOver]
  exact sumOver_congr fun i hi => by have := hπ i hi; grind

example : expect incl [true, false] (htVariance incl fun _ => 1) = 4 := by
  rw [expect_htVariance incl_ne_zero]; simp [sumOver, incl]; grind

end ProofKV
end

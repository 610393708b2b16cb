module

public import ProofKV.Lemmas.Sampling

/-! The Horvitz-Thompson total is unbiased. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Unbiased total**: under Poisson sampling with non-zero probabilities the expectation of the Horvitz-Thompson
estimate over all samples is the total. -/
theorem expect_htTotal {I : List ι} {π y : ι → α}
    (hπ : ∀ i ∈ I, π i ≠ 0) :
    expect π I (htTotal π y) = sumOver I y := by
  unfold htTotal
  rw [expect_sumOver]
  exact sumOver_congr fun i hi => by have := hπ i hi; grind

example : expect incl [true, false] (htTotal incl fun _ => 1) = 2 := by
  rw [expect_htTotal incl_ne_zero]; simp only [sumOver]; grind

end ProofKV
end

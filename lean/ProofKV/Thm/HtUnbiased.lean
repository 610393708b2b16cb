module

public import ProofKV.Lemmas.Prob

/-! Horvitz–Thompson is unbiased. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Horvitz–Thompson mean**: over all samples by independent inclusion with known non-zero probabilities, the estimate has mean the
total. -/
theorem ht_unbiased {I : List ι} {π y : ι → α}
    (hπ : ∀ i ∈ I, π i ≠ 0) :
    expect π I (horvitzThompson π y) = sumOver I y := expect_sum_div hπ

example : expect (fun _ : Bool => (1 / 2 : Rat)) [true, false] (horvitzThompson (fun _ => 1 / 2) fun _ => 3) =
    sumOver [true, false] fun _ => 3 := ht_unbiased fun _ _ => by grind

end ProofKV
end

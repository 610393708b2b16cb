module

public import ProofKV.Lemmas.Output
public import ProofKV.Lemmas.Witness

/-! Blockwise accumulators. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Common rescaling**: dividing all accumulators by a common factor leaves their quotient unchanged. -/
theorem accumulator_rescale {I : List ι} {a r : ι → α} {c : α}
    (hc : 0 < c) :
    (sumOver I fun i => c * a i * r i) / (sumOver I fun i => c * a i) =
      (sumOver I fun i => a i * r i) / sumOver I fun i => a i := by
  have h1 : (sumOver I fun i => c * a i * r i) = c * sumOver I fun i => a i * r i := by
    rw [← sumOver_mul]; exact sumOver_congr fun i _ => by grind
  rw [h1, sumOver_mul]
  generalize (sumOver I fun i => a i * r i) = x
  generalize (sumOver I fun i => a i) = y
  by_cases h : y = 0
  · subst h
    have : c * (0 : α) = 0 := by grind
    rw [this, Field.div_eq_mul_inv, Field.div_eq_mul_inv, Field.inv_zero]; grind
  · grind

example : (sumOver tok fun i => 2 * half i * rad i) / (sumOver tok fun i => 2 * half i) =
    (sumOver tok fun i => half i * rad i) / sumOver tok fun i => half i := accumulator_rescale (by grind)

end ProofKV
end

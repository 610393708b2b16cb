module

public import ProofKV.Lemmas.Logits

/-! The box bound of a logit error. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Box bound**: with `b i` a bound of the key error in coordinate `i`, the logit error is at most
`scale` times the sum of `|q i| b i`. -/
theorem logit_abs_le_box {I : List ι} {q r b : ι → α} {scale : α}
    (hscale : 0 ≤ scale)
    (hbox : ∀ i ∈ I, absV (r i) ≤ b i) :
    absV (scale * dot I q r) ≤ scale * sumOver I fun i => absV (q i) * b i := by
  rw [absV_mul]
  have h : absV scale = scale := by have := absV_cases scale; grind
  rw [h]
  refine mul_le_left hscale (Std.le_trans (absV_sumOver_le _ _) (sumOver_le fun i hi => ?_))
  rw [absV_mul]
  exact mul_le_left (absV_nn _) (hbox i hi)

example : absV ((1 : Rat) * dot [true, false] (fun _ => 1) fun _ => 1) ≤ 1 * sumOver [true, false] fun _ => absV (1 : Rat) * 2 :=
  logit_abs_le_box (by grind) fun _ _ => absV_le.mpr (by grind)

end ProofKV
end

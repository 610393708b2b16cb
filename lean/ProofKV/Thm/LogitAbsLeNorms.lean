module

public import ProofKV.Lemmas.Logits

/-! The norm bound of a logit error. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Norm bound**: with `nq` and `nr` upper bounds of the norms of the query and of the key error (stated by squares, no root is
taken), the logit error `scale ⟨q, r⟩` is at most `scale nq nr` in absolute value. -/
theorem logit_abs_le_norms {I : List ι} {q r : ι → α} {nq nr scale : α}
    (hscale : 0 ≤ scale)
    (hnq : 0 ≤ nq)
    (hnr : 0 ≤ nr)
    (hq : dot I q q ≤ nq * nq)
    (hr : dot I r r ≤ nr * nr) :
    absV (scale * dot I q r) ≤ scale * (nq * nr) := by
  rw [absV_mul]
  have h : absV scale = scale := by have := absV_cases scale; grind
  rw [h]
  exact mul_le_left hscale (absV_dot_le hnq hnr hq hr)

example : absV ((1 / 2 : Rat) * dot [true, false] (fun _ => 1) fun _ => 1) ≤ 1 / 2 * (2 * 2) :=
  logit_abs_le_norms (by grind) (by grind) (by grind) (by simp only [dot, sumOver]; grind) (by simp only [dot, sumOver]; grind)

end ProofKV
end

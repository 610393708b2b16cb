module

public import ProofKV.Lemmas.Logits

/-! The logit error when the query is uncertain too. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Perturbed query**: with the exact query `q + dq`, the exact key `k + dk`, and norm bounds of `q`, `dq`, `k`, `dk`, the logit
error is at most `scale (nq ndk + ndq (nk + ndk))`. -/
theorem logit_abs_le_perturbed {I : List ι} {q dq k dk : ι → α} {nq ndq nk ndk scale : α}
    (hscale : 0 ≤ scale)
    (hnq : 0 ≤ nq)
    (hndq : 0 ≤ ndq)
    (hnk : 0 ≤ nk)
    (hndk : 0 ≤ ndk)
    (hq : dot I q q ≤ nq * nq)
    (hdq : dot I dq dq ≤ ndq * ndq)
    (hk : dot I k k ≤ nk * nk)
    (hdk : dot I dk dk ≤ ndk * ndk) :
    absV (scale * (dot I (fun i => q i + dq i) (fun i => k i + dk i) - dot I q k)) ≤ scale * (nq * ndk + ndq * (nk + ndk)) := by
  rw [absV_mul]
  have h : absV scale = scale := by have := absV_cases scale; grind
  rw [h]
  refine mul_le_left hscale ?_
  have e : dot I (fun i => q i + dq i) (fun i => k i + dk i) - dot I q k =
      dot I q dk + (dot I dq k + dot I dq dk) := by
    rw [dot_add_left, dot_add_right, dot_add_right]; grind
  rw [e]
  have h1 := absV_add_le (dot I q dk) (dot I dq k + dot I dq dk)
  have h2 := absV_add_le (dot I dq k) (dot I dq dk)
  have h3 := absV_dot_le hnq hndk hq hdk
  have h4 := absV_dot_le hndq hnk hdq hk
  have h5 := absV_dot_le hndq hndk hdq hdk
  grind

example : absV ((1 : Rat) * (dot [()] (fun _ => 1 + 1) (fun _ => 1 + 1) - dot [()] (fun _ => 1) fun _ => 1)) ≤
    1 * (1 * 1 + 1 * (1 + 1)) := by
  refine logit_abs_le_perturbed (by grind) (by grind) (by grind) (by grind) (by grind) ?_ ?_ ?_ ?_ <;>
    simp only [dot, sumOver] <;> grind

end ProofKV
end

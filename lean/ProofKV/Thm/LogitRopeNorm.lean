module

public import ProofKV.Spec.Rope
import ProofKV.Lemmas.Rope

/-! The norm bound of a logit under rotary embedding, with an uncertain query. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Norm bound under rotation**: let `k'` and `e'` be the compressed key and its error after the rotation. With norms of `q`, of its
error `dq`, and of key and key error before the rotation, the logit is off by at most `scale (nq ne + ndq (nk + ne))`. -/
theorem logit_abs_le_rope_norms {κ : Type w} {I rest : List ι} {P : List κ} {fst snd : κ → ι} {c s : κ → α}
    {q dq k k' e e' : ι → α} {nq ndq nk ne scale : α}
    (hscale : 0 ≤ scale)
    (hpos : 0 ≤ nq ∧ 0 ≤ ndq ∧ 0 ≤ nk ∧ 0 ≤ ne)
    (hk : Turned P rest fst snd c s k k')
    (he : Turned P rest fst snd c s e e')
    (hq : dot I q q ≤ nq * nq)
    (planes_disjoint : I.Perm (planeCoords fst snd P ++ rest))
    (rotation_orthogonal : ∀ b ∈ P, c b * c b + s b * s b = 1)
    (key_error_norm : dot I e e ≤ ne * ne)
    (query_error_norm : dot I dq dq ≤ ndq * ndq)
    (key_norm : dot I k k ≤ nk * nk) :
    absV (scale * (dot I (fun i => q i + dq i) (fun i => k' i + e' i) - dot I q k')) ≤
      scale * (nq * ne + ndq * (nk + ne)) := by
  refine absV_scale_le hscale ?_
  rw [dot_perturbed]
  rw [← turned_dot_self planes_disjoint rotation_orthogonal hk] at key_norm
  rw [← turned_dot_self planes_disjoint rotation_orthogonal he] at key_error_norm
  obtain ⟨h1, h2, h3, h4⟩ := hpos
  have a1 := absV_add_le (dot I q e') (dot I dq k' + dot I dq e')
  have a2 := absV_add_le (dot I dq k') (dot I dq e')
  have a3 := absV_dot_le h1 h4 hq key_error_norm
  have a4 := absV_dot_le h2 h3 query_error_norm key_norm
  have a5 := absV_dot_le h2 h4 query_error_norm key_error_norm
  grind

example : absV ((1 : Rat) * (dot [true, false] (fun _ => 1 + 0) (fun _ => 0 + 1) -
    dot [true, false] (fun _ => 1) fun _ => 0)) ≤
    1 * (2 * 2 + 0 * (0 + 2)) := by
  refine logit_abs_le_rope_norms (κ := Unit) (P := []) (rest := [true, false]) (fst := fun _ => true) (snd := fun _ => false)
    (c := fun _ => 1) (s := fun _ => 0) (k := fun _ => 0) (e := fun _ => 1) (by grind) ⟨by grind, by grind, by grind, by grind⟩
    ⟨by simp, by simp, fun _ _ => rfl⟩ ⟨by simp, by simp, fun _ _ => rfl⟩ ?_ (by simp [planeCoords]) (by simp) ?_ ?_ ?_ <;>
    simp only [dot, sumOver] <;> grind

end ProofKV
end

module

public import ProofKV.Spec.Rope
import ProofKV.Lemmas.Rope

/-! The box bound of a logit under rotary embedding, with an uncertain query. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Box bound under rotation**: let `k'` and `e'` be the compressed key and its error after the rotation, `p` the query turned back.
With `b i` a bound of the key error in the stored coordinate `i` and `nb` a bound of the norm of `b`, the logit is off by at most `scale`
times the sum of `|p i| b i` plus `scale ndq (nk + nb)` for an uncertain query. -/
theorem logit_abs_le_rope_box {κ : Type w} {I rest : List ι} {P : List κ} {fst snd : κ → ι} {c s : κ → α}
    {q p dq k k' e e' b : ι → α} {ndq nk nb scale : α}
    (hscale : 0 ≤ scale)
    (hpos : 0 ≤ ndq ∧ 0 ≤ nk ∧ 0 ≤ nb)
    (hk : Turned P rest fst snd c s k k')
    (he : Turned P rest fst snd c s e e')
    (hp : Turned P rest fst snd c (fun j => -s j) q p)
    (hb : dot I b b ≤ nb * nb)
    (planes_disjoint : I.Perm (planeCoords fst snd P ++ rest))
    (rotation_orthogonal : ∀ j ∈ P, c j * c j + s j * s j = 1)
    (key_error_in_box : ∀ i ∈ I, absV (e i) ≤ b i)
    (query_error_norm : dot I dq dq ≤ ndq * ndq)
    (key_norm : dot I k k ≤ nk * nk) :
    absV (scale * (dot I (fun i => q i + dq i) (fun i => k' i + e' i) - dot I q k')) ≤
      scale * ((sumOver I fun i => absV (p i) * b i) + ndq * (nk + nb)) := by
  refine absV_scale_le hscale ?_
  rw [dot_perturbed, turned_dot_back planes_disjoint he hp]
  obtain ⟨h2, h3, h4⟩ := hpos
  have hn : dot I e e ≤ nb * nb := Std.le_trans (sumOver_le fun i hi => by
    have h := key_error_in_box i hi
    have h6 := mul_le_both (a := absV (e i)) (b := b i) (c := absV (e i)) (d := b i) (absV_nn _) (Std.le_trans (absV_nn _) h) h h
    rcases absV_cases (e i) with ⟨_, h7⟩ | ⟨_, h7⟩ <;> rw [h7] at h6
    · exact h6
    · have h8 : -e i * -e i = e i * e i := by grind
      rw [h8] at h6
      exact h6) hb
  rw [← turned_dot_self planes_disjoint rotation_orthogonal hk] at key_norm
  rw [← turned_dot_self planes_disjoint rotation_orthogonal he] at hn
  have hbox : absV (dot I p e) ≤ sumOver I fun i => absV (p i) * b i :=
    Std.le_trans (absV_sumOver_le _ _) (sumOver_le fun i hi => by
      rw [absV_mul]
      exact mul_le_left (absV_nn _) (key_error_in_box i hi))
  have a1 := absV_add_le (dot I p e) (dot I dq k' + dot I dq e')
  have a2 := absV_add_le (dot I dq k') (dot I dq e')
  have a4 := absV_dot_le h2 h3 query_error_norm key_norm
  have a5 := absV_dot_le h2 h4 query_error_norm hn
  grind

example : absV ((1 : Rat) * (dot [true] (fun _ => 1 + 0) (fun _ => 0 + 1) - dot [true] (fun _ => 1) fun _ => 0)) ≤
    1 * ((sumOver [true] fun _ => absV 1 * 1) + 0 * (0 + 1)) := by
  refine logit_abs_le_rope_box (κ := Unit) (P := []) (rest := [true]) (fst := fun _ => true) (snd := fun _ => false)
    (c := fun _ => 1) (s := fun _ => 0) (k := fun _ => 0) (e := fun _ => 1) (b := fun _ => 1) (by grind) ⟨by grind, by grind, by grind⟩
    ⟨by simp, by simp, fun _ _ => rfl⟩ ⟨by simp, by simp, fun _ _ => rfl⟩ ⟨by simp, by simp, fun _ _ => rfl⟩ ?_
    (by simp [planeCoords]) (by simp) (fun _ _ => absV_le.mpr (by grind)) ?_ ?_ <;>
    simp only [dot, sumOver] <;> grind

end ProofKV
end

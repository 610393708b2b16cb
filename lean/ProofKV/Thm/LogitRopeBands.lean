module

public import ProofKV.Spec.Rope
import ProofKV.Lemmas.Rope

/-! The band bound of a logit under rotary embedding, with an uncertain query. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A sum over joined bands, band by band. -/
theorem sumOver_bands {β : Type x} (band : β → List ι) (f : ι → α) : ∀ B : List β,
    sumOver (B.flatMap band) f = sumOver B fun b => sumOver (band b) f
  | [] => rfl
  | b :: B => by rw [List.flatMap_cons, sumOver_append, sumOver_bands band f B]; rfl

/-- **Band bound under rotation**: let the bands partition the coordinates, each a union of planes and of coordinates that rest, and let
`k'` and `e'` be the compressed key and its error after the rotation. With norms of the query and of the stored key error by band, the
logit is off by at most `scale` times the sum of `Q b R b` plus `scale ndq (nk + nR)` for an uncertain query, at every angle. -/
theorem logit_abs_le_rope_bands {κ : Type w} {β : Type x} {I : List ι} {B : List β} {band rest : β → List ι} {P : β → List κ}
    {fst snd : κ → ι} {c s : κ → α} {q dq k k' e e' : ι → α} {Q R : β → α} {ndq nk nR scale : α}
    (hscale : 0 ≤ scale)
    (hpos : 0 ≤ ndq ∧ 0 ≤ nk ∧ 0 ≤ nR)
    (hQ : ∀ b ∈ B, 0 ≤ Q b)
    (hR : ∀ b ∈ B, 0 ≤ R b)
    (hk : ∀ b ∈ B, Turned (P b) (rest b) fst snd c s k k')
    (he : ∀ b ∈ B, Turned (P b) (rest b) fst snd c s e e')
    (hq : ∀ b ∈ B, dot (band b) q q ≤ Q b * Q b)
    (hnR : (sumOver B fun b => R b * R b) ≤ nR * nR)
    (bands_partition_coordinates : I.Perm (B.flatMap band))
    (bands_are_unions_of_planes : ∀ b ∈ B, (band b).Perm (planeCoords fst snd (P b) ++ rest b))
    (rotation_orthogonal : ∀ b ∈ B, ∀ j ∈ P b, c j * c j + s j * s j = 1)
    (key_error_bands : ∀ b ∈ B, dot (band b) e e ≤ R b * R b)
    (query_error_norm : dot I dq dq ≤ ndq * ndq)
    (key_norm : dot I k k ≤ nk * nk) :
    absV (scale * (dot I (fun i => q i + dq i) (fun i => k' i + e' i) - dot I q k')) ≤
      scale * ((sumOver B fun b => Q b * R b) + ndq * (nk + nR)) := by
  refine absV_scale_le hscale ?_
  rw [dot_perturbed]
  obtain ⟨h2, h3, h4⟩ := hpos
  have split : ∀ y z : ι → α, dot I y z = sumOver B fun b => dot (band b) y z := fun y z => by
    unfold dot
    rw [sumOver_perm bands_partition_coordinates, sumOver_bands]
  have turn : ∀ {y z : ι → α}, (∀ b ∈ B, Turned (P b) (rest b) fst snd c s y z) → ∀ b ∈ B,
      dot (band b) z z = dot (band b) y y := fun h b hb =>
    turned_dot_self (bands_are_unions_of_planes b hb) (rotation_orthogonal b hb) (h b hb)
  have hk2 : dot I k' k' ≤ nk * nk := by
    rw [split, sumOver_congr (turn hk), ← split]
    exact key_norm
  have he2 : dot I e' e' ≤ nR * nR := by
    rw [split, sumOver_congr (turn he)]
    exact Std.le_trans (sumOver_le key_error_bands) hnR
  have hband : absV (dot I q e') ≤ sumOver B fun b => Q b * R b := by
    rw [split]
    refine Std.le_trans (absV_sumOver_le _ _) (sumOver_le fun b hb => ?_)
    exact absV_dot_le (hQ b hb) (hR b hb) (hq b hb) (by rw [turn he b hb]; exact key_error_bands b hb)
  have a1 := absV_add_le (dot I q e') (dot I dq k' + dot I dq e')
  have a2 := absV_add_le (dot I dq k') (dot I dq e')
  have a4 := absV_dot_le h2 h3 query_error_norm hk2
  have a5 := absV_dot_le h2 h4 query_error_norm he2
  grind

example : absV ((1 : Rat) * (dot [true] (fun _ => 1 + 0) (fun _ => 0 + 1) - dot [true] (fun _ => 1) fun _ => 0)) ≤
    1 * ((sumOver [()] fun _ => 1 * 1) + 0 * (0 + 1)) := by
  refine logit_abs_le_rope_bands (κ := Unit) (P := fun _ => []) (band := fun _ => [true]) (rest := fun _ => [true])
    (fst := fun _ => true) (snd := fun _ => false) (c := fun _ => 1) (s := fun _ => 0) (k := fun _ => 0) (e := fun _ => 1)
    (Q := fun _ => 1) (R := fun _ => 1) (by grind) ⟨by grind, by grind, by grind⟩ (fun _ _ => by grind) (fun _ _ => by grind)
    (fun _ _ => ⟨by simp, by simp, fun _ _ => rfl⟩) (fun _ _ => ⟨by simp, by simp, fun _ _ => rfl⟩) (fun _ _ => ?_) ?_ (by simp)
    (fun _ _ => by simp [planeCoords]) (fun _ _ => by simp) (fun _ _ => ?_) ?_ ?_ <;>
    simp only [dot, sumOver] <;> grind

end ProofKV
end

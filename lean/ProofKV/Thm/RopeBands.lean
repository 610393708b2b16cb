module

public import ProofKV.Lemmas.Logits

/-! The band witness holds at every position. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Band witness under rotation**: norms of key-error planes measured before the rotation bound the logit error after it,
whatever the angles are. -/
theorem rope_logit_abs_le {κ : Type w} {B : List κ} {q r : κ → Plane α} {c s Q R : κ → α} {scale : α}
    (hscale : 0 ≤ scale)
    (hcs : ∀ b ∈ B, c b * c b + s b * s b = 1)
    (hQ : ∀ b ∈ B, 0 ≤ Q b)
    (hR : ∀ b ∈ B, 0 ≤ R b)
    (hq : ∀ b ∈ B, (q b).normSq ≤ Q b * Q b)
    (hr : ∀ b ∈ B, (r b).normSq ≤ R b * R b) :
    absV (scale * sumOver B fun b => (q b).dot ((r b).rotate (c b) (s b))) ≤ scale * sumOver B fun b => Q b * R b := by
  rw [absV_mul]
  have h : absV scale = scale := by have := absV_cases scale; grind
  rw [h]
  refine mul_le_left hscale (Std.le_trans (absV_sumOver_le _ _) (sumOver_le fun b hb => ?_))
  have e : ((r b).rotate (c b) (s b)).normSq = (r b).normSq := by
    have := hcs b hb
    unfold Plane.rotate Plane.normSq
    grind
  refine absV_le_of_sq (mul_nn (hQ b hb) (hR b hb)) ?_
  have h1 := hr b hb
  rw [← e] at h1
  generalize (r b).rotate (c b) (s b) = y at h1
  have h2 := mul_le_both (a := (q b).normSq) (d := R b * R b) (c := y.normSq)
    (by have := sq_nn (q b).fst; have := sq_nn (q b).snd; unfold Plane.normSq; grind) (sq_nn _) (hq b hb) h1
  have h3 := sq_nn ((q b).fst * y.snd - (q b).snd * y.fst)
  unfold Plane.normSq at h2
  unfold Plane.dot
  grind

example : absV ((1 : Rat) * sumOver [()] fun _ => (Plane.dot ⟨1, 0⟩ (Plane.rotate (3 / 5) (4 / 5) ⟨1, 0⟩) : Rat)) ≤
    1 * sumOver [()] fun _ => (1 : Rat) * 1 := by
  refine rope_logit_abs_le (q := fun _ => ⟨1, 0⟩) (r := fun _ => ⟨1, 0⟩) (c := fun _ => 3 / 5) (s := fun _ => 4 / 5) (by grind)
    (fun _ _ => by grind) (fun _ _ => by grind) (fun _ _ => by grind) ?_ ?_ <;>
  · intro _ _
    simp only [Plane.normSq]
    grind

end ProofKV
end

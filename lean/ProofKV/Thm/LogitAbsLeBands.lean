module

public import ProofKV.Lemmas.Logits

/-! The band-norm witness. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Band bound**: split the coordinates into bands; with `Q b` and `R b` upper bounds of the norms of query and key error in
band `b`, the logit error is at most `scale` times the sum of `Q b R b`. -/
theorem logit_abs_le_bands {κ : Type w} {B : List κ} {I : κ → List ι} {q r : ι → α} {Q R : κ → α} {scale : α}
    (hscale : 0 ≤ scale)
    (hQ : ∀ b ∈ B, 0 ≤ Q b)
    (hR : ∀ b ∈ B, 0 ≤ R b)
    (hq : ∀ b ∈ B, dot (I b) q q ≤ Q b * Q b)
    (hr : ∀ b ∈ B, dot (I b) r r ≤ R b * R b) :
    absV (scale * sumOver B fun b => dot (I b) q r) ≤ scale * sumOver B fun b => Q b * R b := by
  rw [absV_mul]
  have h : absV scale = scale := by have := absV_cases scale; grind
  rw [h]
  refine mul_le_left hscale (Std.le_trans (absV_sumOver_le _ _) (sumOver_le fun b hb => ?_))
  exact absV_dot_le (hQ b hb) (hR b hb) (hq b hb) (hr b hb)

example : absV ((1 : Rat) * sumOver [0, 1] fun b : Nat => dot [b] (fun _ => 1) fun _ => 2) ≤
    1 * sumOver [0, 1] fun _ : Nat => (1 : Rat) * 2 :=
  logit_abs_le_bands (by grind) (fun _ _ => by grind) (fun _ _ => by grind) (fun _ _ => by simp only [dot, sumOver]; grind)
    fun _ _ => by simp only [dot, sumOver]; grind

end ProofKV
end

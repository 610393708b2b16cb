module

public import ProofKV.Lemmas.TVHinge
public import ProofKV.Lemmas.Witness

/-! The hinge bound: a cap on the ratio bounds and the mean excess over it. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Hinge bound**: choose any cap `κ ≥ 1`; with `E` the mean excess of the ratio bounds over the cap and `E ≤ κ`, the
total variation distance is at most `(κ - 1) / (κ + 1) + κ E / (1 + κ E)`. Without the side condition it is false. -/
theorem tv_le_hinge {I : List ι} {p r w : ι → α} {κ E : α}
    (hp : IsDist I p)
    (hw : InRatio I r w)
    (hκ : 1 ≤ κ)
    (hE : E = mean I p fun i => posPart (r i - κ))
    (hEκ : E ≤ κ) :
    tv I (tilt I p w) p ≤ (κ - 1) / (κ + 1) + κ * E / (1 + κ * E) := by
  have h0 := one_pos (α := α)
  have hk0 : 0 < κ := by grind
  have eκ : κ * κ⁻¹ = 1 := Field.mul_inv_cancel (by grind)
  have hκi := inv_ps hk0
  have hr : ∀ i ∈ I, 0 < r i := fun i hi => by have := hw.one_le i hi; grind
  refine tv_le_of_gain hp hw.inBox fun x hx => ?_
  have hden := (choiceFacts hp hw hx).den
  have sx : (sumOver I fun i => x i * (p i * r i)) =
      (sumOver I fun i => x i * (p i * minV (r i) κ)) + sumOver I fun i => x i * (p i * posPart (r i - κ)) := by
    rw [← sumOver_add]
    exact sumOver_congr fun i _ => by
      have : r i = minV (r i) κ + posPart (r i - κ) := by
        have := minV_cases (r i) κ; have := posPart_cases (r i - κ); grind
      grind
  have sy : (sumOver I fun i => (1 - x i) * (p i * (r i)⁻¹)) =
      (sumOver I fun i => (1 - x i) * (p i * maxV (r i)⁻¹ κ⁻¹)) -
        sumOver I fun i => (1 - x i) * (p i * posPart (κ⁻¹ - (r i)⁻¹)) := by
    rw [← sumOver_sub]
    exact sumOver_congr fun i _ => by
      have : (r i)⁻¹ = maxV (r i)⁻¹ κ⁻¹ - posPart (κ⁻¹ - (r i)⁻¹) := by
        have := maxV_cases (r i)⁻¹ κ⁻¹; have := posPart_cases (κ⁻¹ - (r i)⁻¹); grind
      grind
  have sE : (sumOver I fun i => x i * (p i * posPart (r i - κ))) +
      (sumOver I fun i => (1 - x i) * (p i * posPart (r i - κ))) = E := by
    rw [hE]; exact share_add (fun i => p i * posPart (r i - κ)) x
  have hpos : ∀ i ∈ I, 0 ≤ p i * posPart (r i - κ) := fun i hi => mul_nn (hp.nonneg i hi) (posPart_cases _).1
  have hneg : ∀ i ∈ I, 0 ≤ p i * posPart (κ⁻¹ - (r i)⁻¹) := fun i hi => mul_nn (hp.nonneg i hi) (posPart_cases _).1
  have hmin : ∀ i ∈ I, 1 ≤ minV (r i) κ ∧ minV (r i) κ ≤ κ := fun i hi => by
    have := minV_cases (r i) κ; have := hw.one_le i hi; grind
  have hf2 : (κ + E) * (κ + E) * (κ * sumOver I fun i => (1 - x i) * (p i * posPart (κ⁻¹ - (r i)⁻¹))) ≤
      E * E * (sumOver I fun i => (1 - x i) * p i) + κ * sumOver I fun i => (1 - x i) * (p i * posPart (r i - κ)) := by
    rw [← sumOver_mul, ← sumOver_mul, ← sumOver_mul, ← sumOver_mul, ← sumOver_add]
    refine sumOver_le fun i hi => ?_
    have h1 := mul_nn (a := 1 - x i) (by have := (hx i hi).2; grind) (hp.nonneg i hi)
    have := mul_le_left h1 (hinge_tangent hκ (hr i hi) E)
    grind
  have hgnn := rest_nn hx hpos
  have henn := share_nn hx hpos
  have hfnn := rest_nn hx hneg
  have hPQ := (share_add p x).trans hp.total
  have hQnn := rest_nn hx hp.nonneg
  have hPnn := share_nn hx hp.nonneg
  have hEnn : 0 ≤ E := by grind
  unfold gain
  rw [sx, sy] at hden ⊢
  refine hinge_core hκ hEκ hPnn hQnn hPQ
    (share_nn hx fun i hi => mul_nn (hp.nonneg i hi) (by have := hmin i hi; grind)) henn hfnn hgnn sE ?_ ?_ ?_ ?_ ?_ ?_ hden
  · rw [← sumOver_mul]
    exact sumOver_le fun i hi => by
      have := mul_le_left (mul_nn (hx i hi).1 (hp.nonneg i hi)) (hmin i hi).2; grind
  · rw [← sumOver_mul]
    exact sumOver_le fun i hi => by
      have h1 := mul_nn (hx i hi).1 (hp.nonneg i hi)
      have h2 := mul_le_left h1 (hmin i hi).1
      have h3 := mul_le_left (mul_nn h1 (b := minV (r i) κ) (by have := hmin i hi; grind)) hκ
      grind
  · rw [← sumOver_mul]
    exact sumOver_le fun i hi => by
      have h1 := mul_nn (a := 1 - x i) (by have := (hx i hi).2; grind) (hp.nonneg i hi)
      have h2 := cancel_le eκ (mul_le_left (mul_nn h1 (Std.le_of_lt hk0)) (maxV_cases (r i)⁻¹ κ⁻¹).2.1)
      rw [Semiring.mul_assoc] at h2
      exact h2
  · have h1 := rest_nn hx (f := fun i => p i * (r i)⁻¹) fun i hi =>
      mul_nn (hp.nonneg i hi) (Std.le_of_lt (hw.inBox.pos i hi))
    rw [sy] at h1
    grind
  · rw [← sumOver_mul]
    exact sumOver_le fun i hi => by
      have h1 := mul_nn (a := 1 - x i) (by have := (hx i hi).2; grind) (hp.nonneg i hi)
      have := mul_le_left h1 (hinge_drop hκ (hr i hi))
      grind
  · refine le_of_mul (c := κ + E) (by grind) ?_
    have h1 := mul_le_left (mul_nn hEnn hEnn) (a := sumOver I fun i => (1 - x i) * p i) (b := 1) (by grind)
    have h2 := mul_le_left (Std.le_of_lt hk0)
      (a := sumOver I fun i => (1 - x i) * (p i * posPart (r i - κ))) (b := E) (by grind)
    grind

example : tv tok (tilt tok half ext) half ≤ (2 - 1) / (2 + 1) + 2 * (1 / 2) / (1 + 2 * (1 / 2)) := by
  refine tv_le_hinge half_isDist ext_inRatio (by grind) ?_ (by grind)
  have h1 := posPart_cases ((2 : Rat) - 2)
  have h2 := posPart_cases ((3 : Rat) - 2)
  simp only [mean, tok, half, rad, sumOver, if_true, Bool.false_eq_true, if_false]
  grind

end ProofKV
end

module

public import ProofKV.Lemmas.TV

/-! Lemmas behind the closed-form total-variation bounds: the mean bound, the hinge bound, sums of ratios. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A tangent of `r ↦ 1/r`: under the ratio bound `r`, mass below it satisfies `2 t Q ≤ h + t² y`. -/
theorem am_hm {I : List ι} {p r l x : ι → α} (hp : IsDist I p) (hx : IsShare I x) (hr : ∀ i ∈ I, 0 < r i)
    (h : ∀ i ∈ I, 1 ≤ r i * l i) (t : α) :
    2 * t * (sumOver I fun i => x i * p i) ≤
      (sumOver I fun i => x i * (p i * r i)) + t * t * sumOver I fun i => x i * (p i * l i) := by
  rw [← sumOver_mul, ← sumOver_mul, ← sumOver_add]
  refine sumOver_le fun i hi => ?_
  have h1 : 2 * t ≤ r i + t * t * l i := by
    refine le_of_mul (hr i hi) ?_
    have h2 := mul_le_left (sq_nn t) (h i hi)
    have h3 := sq_nn (r i - t)
    grind
  have h2 := mul_le_left (mul_nn (hx i hi).1 (hp.nonneg i hi)) h1
  grind

/-- Cauchy–Schwarz in the form `Q² ≤ h y`. -/
theorem sq_le_of_am_hm {Q h y : α} (hy : 0 ≤ y) (hh : 0 ≤ h) (H : ∀ t, 2 * t * Q ≤ h + t * t * y) : Q * Q ≤ h * y := by
  by_cases e : y = 0
  · subst e
    by_cases hQ : Q = 0
    · subst hQ; grind
    · exfalso
      have h1 := H ((h + 1) / Q)
      have h2 : 2 * ((h + 1) / Q) * Q = 2 * (h + 1) := by grind
      have := one_pos (α := α)
      grind
  · have hy' : 0 < y := by grind
    have h1 := H (Q / y)
    have h2 := mul_le_left (Std.le_of_lt hy') h1
    have h3 : y * (2 * (Q / y) * Q) = 2 * (Q * Q) := by grind
    have h4 : y * (h + Q / y * (Q / y) * y) = h * y + Q * Q := by grind
    grind

/-- The polynomial core of the mean bound when the chosen mass stays at most one. -/
theorem mean_core {a b h P Q : α} (hP : 0 ≤ P) (hQ : 0 ≤ Q) (hPQ : P + Q = 1) (ha : P ≤ a) (hb : 0 ≤ b) (hbQ : b ≤ Q)
    (hh : Q ≤ h) (hhb : Q * Q ≤ h * b) (ha1 : a ≤ 1) : a + b ≤ (a + h) * (b + P * (a + b)) := by
  have h1 : 2 * Q ≤ h + b := by
    refine le_of_sq_le (by grind) ?_
    have := sq_nn (h - b)
    grind
  have h2 := mul_le_left (mul_nn hP (a := P) (b := a) (by grind)) h1
  have h3 := mul_nn (a := 1 - a) (b := Q - b) (by grind) (by grind)
  have h4 := mul_nn (mul_nn hP (a := P) (b := a + Q) (by grind)) (b := a - P) (by grind)
  have h5 := mul_le_left hP hhb
  have : Q = 1 - P := by grind
  subst this
  grind

/-- The mean bound for one choice, first branch. -/
theorem mean_branch_small {a b h P Q : α} (hP : 0 ≤ P) (hQ : 0 ≤ Q) (hPQ : P + Q = 1) (ha : P ≤ a) (hb : 0 ≤ b)
    (hbQ : b ≤ Q) (hh : Q ≤ h) (hhb : Q * Q ≤ h * b) (ha1 : a ≤ 1) (hd : 0 < a + b) :
    a / (a + b) - P ≤ 1 - 1 / (a + h) := by
  have h0 := one_pos (α := α)
  have h1 := mean_core hP hQ hPQ ha hb hbQ hh hhb ha1
  have hA : 0 < a + h := by grind
  have h2 : 1 / (a + h) ≤ (b + P * (a + b)) / (a + b) := div_le_div_cross hA hd (by grind)
  have h3 : (b + P * (a + b)) / (a + b) = 1 - (a / (a + b) - P) := by grind
  grind

/-- The mean bound for one choice, second branch: bounded by `m / (m + 1)` with `m = a h`. -/
theorem mean_branch_large {a b h P Q : α} (hQ : 0 ≤ Q) (hPQ : P + Q = 1) (ha : 0 ≤ a) (hb : 0 ≤ b) (hh : 0 ≤ h)
    (hhb : Q * Q ≤ h * b) (hQ1 : Q ≤ 1) (hd : 0 < a + b) : a / (a + b) - P ≤ a * h / (a * h + 1) := by
  have h0 := one_pos (α := α)
  have hm := mul_nn ha hh
  have h3 : a / (a + b) - P = (a * Q - b * P) / (a + b) := by
    have : P = 1 - Q := by grind
    subst this
    grind
  rw [h3]
  refine div_le_div_cross hd (by grind) ?_
  -- The inequality is linear in `b`, so it is enough to check it where `h b = Q²`.
  have hP : P = 1 - Q := by grind
  subst hP
  have g1 : a * h * (a + b) - (a * Q - b * (1 - Q)) * (a * h + 1) =
      (a * (a * h) * (1 - Q) - a * Q) + b * ((a * h + 1) * (1 - Q) + a * h) := by grind
  have g2 := mul_nn hb (b := (a * h + 1) * (1 - Q) + a * h) (by
    have := mul_nn (a := a * h + 1) (b := 1 - Q) (by grind) (by grind); grind)
  have goal : 0 ≤ (a * (a * h) * (1 - Q) - a * Q) + b * ((a * h + 1) * (1 - Q) + a * h) := by
    by_cases e : h = 0
    · subst e
      have : Q = 0 := by
        have := sq_nn Q
        by_cases q : Q = 0
        · exact q
        · have := mul_ps (a := Q) (b := Q) (by grind) (by grind); grind
      subst this
      grind
    · have hh' : 0 < h := by grind
      have k1 := mul_le_right (c := (a * h + 1) * (1 - Q) + a * h) (by
        have := mul_nn (a := a * h + 1) (b := 1 - Q) (by grind) (by grind); grind) hhb
      have k2 : 0 ≤ (a * h) * (a * h) * (1 - Q) - (a * h) * Q + Q * Q * ((a * h + 1) * (1 - Q) + a * h) := by
        generalize a * h = m at *
        have s1 := sq_nn (m - Q)
        have s2 := mul_nn hm hQ
        have s3 := mul_nn s2 hQ
        have s4 := mul_nn (a := 1 - Q) (b := (m - Q) * (m - Q) + m * Q + m * Q * Q) (by grind) (by grind)
        grind
      refine nn_of_mul hh' ?_
      grind
  grind

/-- The oscillation bound. -/
theorem tv_le_of_osc {I : List ι} {p w : ι → α} {κ : α} (hp : IsDist I p) (hκ : 1 ≤ κ) (hw : ∀ i ∈ I, 0 < w i)
    (hosc : ∀ i ∈ I, ∀ j ∈ I, w i ≤ κ * κ * w j) : tv I (tilt I p w) p ≤ (κ - 1) / (κ + 1) := by
  have hb : InBox I w w w := ⟨hw, fun _ _ => Std.le_refl _, fun _ _ => Std.le_refl _⟩
  refine tv_le_of_gain hp hb fun x hx => ?_
  have hpw : ∀ i ∈ I, 0 ≤ p i * w i := fun i hi => mul_nn (hp.nonneg i hi) (Std.le_of_lt (hw i hi))
  refine gain_le_odds hκ (share_nn hx hp.nonneg) (rest_nn hx hp.nonneg) ((share_add p x).trans hp.total)
    (share_nn hx hpw) (rest_nn hx hpw) (gain_den_pos hp hw hb.le hx) ?_
  rw [← sumOver_mul_right, ← sumOver_mul_right, ← sumOver_mul]
  refine sumOver_le fun i hi => ?_
  rw [← sumOver_mul, ← sumOver_mul, ← sumOver_mul]
  refine sumOver_le fun j hj => ?_
  have h1 := mul_nn (mul_nn (hx i hi).1 (hp.nonneg i hi))
    (mul_nn (a := 1 - x j) (by have := (hx j hj).2; grind) (hp.nonneg j hj))
  have h2 := mul_le_left h1 (hosc i hi j hj)
  grind

end ProofKV
end

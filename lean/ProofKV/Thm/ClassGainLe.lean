module

public import ProofKV.Spec.Thresholds
import ProofKV.Base

/-! The gain along one class of tokens, in closed form. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α]

/-- The gain in terms of the denominator `D`: with `c = b u + a l` it is `(u + D₀ - (c / D + D)) / (u - l) - P`. -/
theorem class_gain_eq {a b P m l u t : α} (hD : 0 < a + b + t * (m * (u - l))) :
    (u - l) * ((a + b + t * (m * (u - l))) * ((a + t * (m * u)) / (a + b + t * (m * (u - l))) - (P + t * m))) =
      (u + (a + b) - (u - l) * P) * (a + b + t * (m * (u - l))) - (b * u + a * l) -
        (a + b + t * (m * (u - l))) * (a + b + t * (m * (u - l))) := by
  have e : (a + b + t * (m * (u - l))) * ((a + t * (m * u)) / (a + b + t * (m * (u - l))) - (P + t * m)) =
      (a + t * (m * u)) - (a + b + t * (m * (u - l))) * (P + t * m) := by
    generalize hE : a + b + t * (m * (u - l)) = D at *
    have := mul_div_self (a := a + t * (m * u)) hD
    grind
  rw [e]
  grind

/-- Below the root the gain falls: no part of the class is best. -/
theorem class_gain_le_without {d D F V W k c : α} (hd : 0 < d) (hD : 0 < D) (hF : 0 < F) (hFD : F ≤ D) (h : c ≤ F * F)
    (eD : d * (D * V) = k * D - c - D * D) (eF : d * (F * W) = k * F - c - F * F) : V ≤ W := by
  have g1 := mul_le_left (Std.le_of_lt hF) hFD
  have g2 := mul_nn (a := D - F) (b := F * D - c) (by grind) (by grind)
  refine le_of_mul (mul_ps hd (mul_ps hD hF)) ?_
  have i1 : d * (D * F) * V = F * (k * D - c - D * D) := by rw [← eD]; grind
  have i2 : d * (D * F) * W = D * (k * F - c - F * F) := by rw [← eF]; grind
  rw [i1, i2]
  clear i1 i2 eD eF
  grind

/-- Up to the root the gain rises: the whole class is best. -/
theorem class_gain_le_whole {d D E V W k c : α} (hd : 0 < d) (hD : 0 < D) (hE : 0 < E) (hDE : D ≤ E) (h : E * E ≤ c)
    (eD : d * (D * V) = k * D - c - D * D) (eE : d * (E * W) = k * E - c - E * E) : V ≤ W := by
  have g1 := mul_le_right (Std.le_of_lt hE) hDE
  have g2 := mul_nn (a := E - D) (b := c - D * E) (by grind) (by grind)
  refine le_of_mul (mul_ps hd (mul_ps hD hE)) ?_
  have i1 : d * (D * E) * V = E * (k * D - c - D * D) := by rw [← eD]; grind
  have i2 : d * (D * E) * W = D * (k * E - c - E * E) := by rw [← eE]; grind
  rw [i1, i2]
  clear i1 i2 eD eE
  grind

/-- Anywhere the gain is at most the number with a root rounded down. -/
theorem class_gain_le_inner {d D V W k c y : α} (hd : 0 < d) (hD : 0 < D) (hy : y * y ≤ c)
    (eD : d * (D * V) = k * D - c - D * D) (eW : d * W = k - 2 * y) : V ≤ W := by
  have g1 := sq_nn (D - y)
  refine le_of_mul (mul_ps hd hD) ?_
  have i1 : d * D * V = k * D - c - D * D := by rw [← eD]; grind
  have i2 : d * D * W = D * (k - 2 * y) := by rw [← eW]; grind
  rw [i1, i2]
  clear i1 i2 eD eW
  grind

/-- **Closed form along a class**: as a class of mass `m` with the ends `l ≤ u` is taken in the part `t`, the gain
`(a + t m u) / (a + b + t m (u - l)) - (P + t m)` is at most `classValue`, for any `y` with `y² ≤ b u + a l`. -/
theorem class_gain_le {a b P m l u t y : α}
    (hD : 0 < a + b)
    (hm : 0 ≤ m)
    (hlu : l ≤ u)
    (ht0 : 0 ≤ t)
    (ht1 : t ≤ 1)
    (hyc : y * y ≤ b * u + a * l) :
    (a + t * (m * u)) / (a + b + t * (m * (u - l))) - (P + t * m) ≤ classValue a b P m l u y := by
  have hw := mul_nn hm (b := u - l) (by grind)
  have hx := mul_nn ht0 hw
  have hx1 := mul_le_right hw ht1
  have hFD : a + b ≤ a + b + t * (m * (u - l)) := by clear hyc hx1; grind
  have hDE : a + b + t * (m * (u - l)) ≤ a + b + m * (u - l) := by clear hyc hx; grind
  have hDt := Std.lt_of_lt_of_le hD hFD
  have hD1 := Std.lt_of_lt_of_le hDt hDE
  unfold classValue
  by_cases h : l < u
  · have hpos : 0 < u - l := by clear hyc hx hx1; grind
    have eD := class_gain_eq (P := P) hDt
    have e0 : a + b + 0 * (m * (u - l)) = a + b := by grind
    have e1 : a + b + 1 * (m * (u - l)) = a + b + m * (u - l) := by grind
    have eF := class_gain_eq (a := a) (b := b) (P := P) (m := m) (l := l) (u := u) (t := 0) (by rw [e0]; exact hD)
    have eE := class_gain_eq (a := a) (b := b) (P := P) (m := m) (l := l) (u := u) (t := 1) (by rw [e1]; exact hD1)
    rw [e0, show a + 0 * (m * u) = a by grind, show P + 0 * m = P by grind] at eF
    rw [e1, show a + 1 * (m * u) = a + m * u by grind, show P + 1 * m = P + m by grind] at eE
    simp only [h, if_true]
    by_cases h1 : b * u + a * l ≤ (a + b) * (a + b)
    · simp only [h1, if_true]
      exact class_gain_le_without hpos hDt hD hFD h1 eD eF
    · simp only [h1, if_false]
      by_cases h2 : (a + b + m * (u - l)) * (a + b + m * (u - l)) ≤ b * u + a * l
      · simp only [h2, if_true]
        exact class_gain_le_whole hpos hDt hD1 hDE h2 eD eE
      · simp only [h2, if_false]
        refine class_gain_le_inner hpos hDt hyc eD ?_
        have := mul_div_self (a := u + (a + b) - 2 * y) hpos
        clear eD eF eE hyc hx hx1 hFD hDE h1 h2
        grind
  · have e : u = l := by clear hyc hx hx1 hFD hDE; grind
    subst e
    simp only [h, if_false]
    rw [show a + b + t * (m * (u - u)) = a + b by grind, show a + b + m * (u - u) = a + b by grind]
    have hmax := maxV_cases (a / (a + b) - P) ((a + m * u) / (a + b) - (P + m))
    have e2 : (a + t * (m * u)) / (a + b) = (1 - t) * (a / (a + b)) + t * ((a + m * u) / (a + b)) := by grind
    have g1 := mul_le_left (c := 1 - t) (by clear hyc hx hx1 hFD hDE; grind) hmax.1
    have g2 := mul_le_left ht0 hmax.2.1
    rw [e2]
    clear hyc hx hx1 hFD hDE e2 hDt hD1 hw hmax
    grind

example : ((1 : Rat) / 3 + 1 / 4 * (1 * 3)) / (1 / 3 + 1 / 3 + 1 / 4 * (1 * (3 - 1 / 3))) - (0 + 1 / 4 * 1) ≤
    classValue (1 / 3) (1 / 3) 0 1 (1 / 3) 3 1 :=
  class_gain_le (by grind) (by grind) (by grind) (by grind) (by grind) (by grind)

end ProofKV
end

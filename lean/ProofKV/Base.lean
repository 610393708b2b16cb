module

public import ProofKV.Spec.Order

/-! Lemmas on linearly ordered fields, absolute values, maxima and finite sums. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] {ι : Type v} {κ : Type w}

section Sums

/-- A sum depends only on the values on the list. -/
theorem sumOver_congr {f g : ι → α} : ∀ {I : List ι}, (∀ i ∈ I, f i = g i) → sumOver I f = sumOver I g
  | [], _ => rfl
  | i :: I, h => by
    have h1 := h i (by simp)
    have h2 := sumOver_congr (I := I) (fun j hj => h j (by simp [hj]))
    simp only [sumOver, h1, h2]

/-- Sums add. -/
theorem sumOver_add (f g : ι → α) : ∀ I : List ι, sumOver I (fun i => f i + g i) = sumOver I f + sumOver I g
  | [] => by simp only [sumOver]; grind
  | i :: I => by have := sumOver_add f g I; simp only [sumOver]; grind

/-- Sums subtract. -/
theorem sumOver_sub (f g : ι → α) : ∀ I : List ι, sumOver I (fun i => f i - g i) = sumOver I f - sumOver I g
  | [] => by simp only [sumOver]; grind
  | i :: I => by have := sumOver_sub f g I; simp only [sumOver]; grind

/-- A sum negates termwise. -/
theorem sumOver_neg (f : ι → α) : ∀ I : List ι, sumOver I (fun i => - f i) = - sumOver I f
  | [] => by simp only [sumOver]; grind
  | i :: I => by have := sumOver_neg f I; simp only [sumOver]; grind

/-- A common factor comes out on the left. -/
theorem sumOver_mul (c : α) (f : ι → α) : ∀ I : List ι, sumOver I (fun i => c * f i) = c * sumOver I f
  | [] => by simp only [sumOver]; grind
  | i :: I => by have := sumOver_mul c f I; simp only [sumOver]; grind

/-- A common factor comes out on the right. -/
theorem sumOver_mul_right (c : α) (f : ι → α) : ∀ I : List ι, sumOver I (fun i => f i * c) = sumOver I f * c
  | [] => by simp only [sumOver]; grind
  | i :: I => by have := sumOver_mul_right c f I; simp only [sumOver]; grind

/-- A common divisor comes out. -/
theorem sumOver_div (c : α) (f : ι → α) (I : List ι) : sumOver I (fun i => f i / c) = sumOver I f / c := by
  rw [Field.div_eq_mul_inv, ← sumOver_mul_right]
  exact sumOver_congr fun i _ => Field.div_eq_mul_inv _ _

/-- A sum of zeros is zero. -/
theorem sumOver_zero : ∀ I : List ι, sumOver I (fun _ => (0 : α)) = 0
  | [] => rfl
  | _ :: I => by simp only [sumOver, sumOver_zero I]; grind

/-- The sum over a concatenation. -/
theorem sumOver_append (f : ι → α) : ∀ I J : List ι, sumOver (I ++ J) f = sumOver I f + sumOver J f
  | [], J => by simp only [sumOver, List.nil_append]; grind
  | i :: I, J => by have := sumOver_append f I J; simp only [sumOver, List.cons_append]; grind

/-- Two finite sums exchange. -/
theorem sumOver_comm (f : ι → κ → α) (J : List κ) :
    ∀ I : List ι, sumOver I (fun i => sumOver J fun j => f i j) = sumOver J fun j => sumOver I fun i => f i j
  | [] => by simp only [sumOver, sumOver_zero]
  | i :: I => by simp only [sumOver, sumOver_comm f J I, sumOver_add]

/-- The sum over a mapped list. -/
theorem sumOver_map (g : κ → ι) (f : ι → α) : ∀ J : List κ, sumOver (J.map g) f = sumOver J fun j => f (g j)
  | [] => rfl
  | j :: J => by simp only [List.map_cons, sumOver, sumOver_map g f J]

/-- A sum splits along a condition. -/
theorem sumIf_add_not (A : ι → Prop) (I : List ι) (f : ι → α) :
    sumIf A I f + sumIf (fun i => ¬ A i) I f = sumOver I f := by
  unfold sumIf
  rw [← sumOver_add]
  exact sumOver_congr fun i _ => by by_cases h : A i <;> simp [h] <;> grind

end Sums

variable [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α]

section Field

/-- One is positive. -/
theorem one_pos : (0 : α) < 1 := OrderedRing.zero_lt_one

/-- Products of non-negative values are non-negative. -/
theorem mul_nn {a b : α} (ha : 0 ≤ a) (hb : 0 ≤ b) : 0 ≤ a * b := OrderedRing.mul_nonneg ha hb

/-- Products of positive values are positive. -/
theorem mul_ps {a b : α} (ha : 0 < a) (hb : 0 < b) : 0 < a * b := OrderedRing.mul_pos ha hb

/-- Multiplying by a non-negative factor on the left keeps `≤`. -/
theorem mul_le_left {a b c : α} (hc : 0 ≤ c) (h : a ≤ b) : c * a ≤ c * b :=
  OrderedRing.mul_le_mul_of_nonneg_left h hc

/-- Multiplying by a non-negative factor on the right keeps `≤`. -/
theorem mul_le_right {a b c : α} (hc : 0 ≤ c) (h : a ≤ b) : a * c ≤ b * c :=
  OrderedRing.mul_le_mul_of_nonneg_right h hc

/-- Products of bounded non-negative values. -/
theorem mul_le_both {a b c d : α} (ha : 0 ≤ a) (hd : 0 ≤ d) (h1 : a ≤ b) (h2 : c ≤ d) : a * c ≤ b * d := by
  have := mul_le_left ha h2
  have := mul_le_right hd h1
  grind

/-- Squares are non-negative. -/
theorem sq_nn (a : α) : 0 ≤ a * a := by
  rcases Std.le_total (a := 0) (b := a) with h | h
  · exact mul_nn h h
  · have : 0 ≤ -a := by grind
    have := mul_nn this this
    grind

/-- A positive factor cancels. -/
theorem le_of_mul {a b c : α} (hc : 0 < c) (h : c * a ≤ c * b) : a ≤ b := by
  rcases Std.le_total (a := a) (b := b) with h' | h'
  · exact h'
  · by_cases e : a = b
    · grind
    · have : b < a := by grind
      have := OrderedRing.mul_lt_mul_of_pos_left this hc
      grind

/-- A positive factor of a non-negative product leaves a non-negative value. -/
theorem nn_of_mul {a c : α} (hc : 0 < c) (h : 0 ≤ c * a) : 0 ≤ a :=
  le_of_mul hc (by grind)

/-- The inverse of a positive value is positive. -/
theorem inv_ps {a : α} (h : 0 < a) : 0 < a⁻¹ := Field.IsOrdered.inv_pos_iff.mpr h

/-- A quotient of positive values is positive. -/
theorem div_ps {a b : α} (ha : 0 < a) (hb : 0 < b) : 0 < a / b := by
  rw [Field.div_eq_mul_inv]; exact mul_ps ha (inv_ps hb)

/-- A quotient of non-negative by positive is non-negative. -/
theorem div_nn {a b : α} (ha : 0 ≤ a) (hb : 0 < b) : 0 ≤ a / b := by
  rw [Field.div_eq_mul_inv]; exact mul_nn ha (Std.le_of_lt (inv_ps hb))

/-- Division and multiplication cancel. -/
theorem mul_div_self {a b : α} (hb : 0 < b) : b * (a / b) = a := by grind

/-- Upper bound of a quotient. -/
theorem div_le {a b c : α} (hb : 0 < b) (h : a ≤ c * b) : a / b ≤ c :=
  le_of_mul hb (by rw [mul_div_self hb]; grind)

/-- Lower bound of a quotient. -/
theorem le_div {a b c : α} (hb : 0 < b) (h : c * b ≤ a) : c ≤ a / b :=
  le_of_mul hb (by rw [mul_div_self hb]; grind)

/-- Quotients with a common positive denominator compare as their numerators. -/
theorem div_le_div {a b c : α} (hc : 0 < c) (h : a ≤ b) : a / c ≤ b / c :=
  div_le hc (by rw [show b / c * c = b by grind]; exact h)

/-- Two quotients compare by cross multiplication. -/
theorem div_le_div_cross {a b c d : α} (hb : 0 < b) (hd : 0 < d) (h : a * d ≤ c * b) : a / b ≤ c / d := by
  refine div_le hb (le_of_mul hd ?_)
  rw [show d * (c / d * b) = c * b by grind]
  grind

/-- Comparing squares of a value and a non-negative value. -/
theorem le_of_sq_le {a b : α} (hb : 0 ≤ b) (h : a * a ≤ b * b) : a ≤ b := by
  rcases Std.le_total (a := a) (b := b) with h' | h'
  · exact h'
  · by_cases e : a = b
    · grind
    · have h1 : 0 < a - b := by grind
      have h2 : 0 < a + b := by grind
      have := mul_ps h1 h2
      grind

end Field

section Abs

/-- An absolute value is the value or its negative. -/
theorem absV_cases (a : α) : (0 ≤ a ∧ absV a = a) ∨ (a ≤ 0 ∧ absV a = -a) := by
  unfold absV
  by_cases h : 0 ≤ a
  · simp [h]
  · right
    have : a ≤ 0 := by grind
    simp [h, this]

/-- `|a| ≤ u` says that `a` lies in `[-u, u]`. -/
theorem absV_le {a u : α} : absV a ≤ u ↔ -u ≤ a ∧ a ≤ u := by
  rcases absV_cases a with h | h <;> grind

/-- Absolute values are non-negative. -/
theorem absV_nn (a : α) : 0 ≤ absV a := by rcases absV_cases a with h | h <;> grind

/-- A value is at most its absolute value. -/
theorem le_absV (a : α) : a ≤ absV a := by rcases absV_cases a with h | h <;> grind

/-- The negative of a value is at most its absolute value. -/
theorem neg_le_absV (a : α) : -a ≤ absV a := by rcases absV_cases a with h | h <;> grind

/-- The triangle inequality. -/
theorem absV_add_le (a b : α) : absV (a + b) ≤ absV a + absV b := by
  rcases absV_cases a with h | h <;> rcases absV_cases b with h' | h' <;>
    rcases absV_cases (a + b) with h'' | h'' <;> grind

/-- The absolute value of a product. -/
theorem absV_mul (a b : α) : absV (a * b) = absV a * absV b := by
  rcases absV_cases a with ⟨ha, ea⟩ | ⟨ha, ea⟩ <;> rcases absV_cases b with ⟨hb, eb⟩ | ⟨hb, eb⟩ <;>
    rcases absV_cases (a * b) with ⟨hc, ec⟩ | ⟨hc, ec⟩ <;> rw [ea, eb, ec]
  · have := mul_nn ha hb; grind
  · have := mul_nn ha (b := -b) (by grind); grind
  · have := mul_nn ha (b := -b) (by grind); grind
  · have := mul_nn (a := -a) (by grind) hb; grind
  · have := mul_nn (a := -a) (by grind) hb; grind
  · have := mul_nn (a := -a) (b := -b) (by grind) (by grind); grind
  · have := mul_nn (a := -a) (b := -b) (by grind) (by grind); grind

/-- A bound of the square bounds the absolute value. -/
theorem absV_le_of_sq {a b : α} (hb : 0 ≤ b) (h : a * a ≤ b * b) : absV a ≤ b := by
  refine absV_le.mpr ⟨?_, le_of_sq_le hb h⟩
  have := le_of_sq_le (a := -a) hb (by grind)
  grind

/-- The maximum is one of its arguments and at least both. -/
theorem maxV_cases (a b : α) : a ≤ maxV a b ∧ b ≤ maxV a b ∧ (maxV a b = a ∨ maxV a b = b) := by
  unfold maxV
  by_cases h : a ≤ b <;> simp [h] <;> grind

/-- The minimum is one of its arguments and at most both. -/
theorem minV_cases (a b : α) : minV a b ≤ a ∧ minV a b ≤ b ∧ (minV a b = a ∨ minV a b = b) := by
  unfold minV
  by_cases h : a ≤ b <;> simp [h] <;> grind

/-- The positive part is non-negative, at least the value, and one of the two. -/
theorem posPart_cases (a : α) : 0 ≤ posPart a ∧ a ≤ posPart a ∧ (posPart a = a ∨ posPart a = 0) := by
  have := maxV_cases a (0 : α)
  unfold posPart
  grind

/-- A maximum over a list is at least its base value. -/
theorem le_maxOver_base (b : α) (f : ι → α) : ∀ I : List ι, b ≤ maxOver b I f
  | [] => Std.le_refl b
  | i :: I => by
    have := le_maxOver_base b f I
    have := maxV_cases (f i) (maxOver b I f)
    simp only [maxOver]; grind

/-- A maximum over a list is at least each value on the list. -/
theorem le_maxOver {b : α} {f : ι → α} : ∀ {I : List ι} {i : ι}, i ∈ I → f i ≤ maxOver b I f
  | [], _, h => by simp at h
  | j :: I, i, h => by
    have h2 := maxV_cases (f j) (maxOver b I f)
    simp only [maxOver]
    rcases List.mem_cons.mp h with rfl | h
    · exact h2.1
    · exact Std.le_trans (le_maxOver h) h2.2.1

/-- An upper bound of the base and of the values bounds the maximum. -/
theorem maxOver_le {b u : α} {f : ι → α} (hb : b ≤ u) : ∀ {I : List ι}, (∀ i ∈ I, f i ≤ u) → maxOver b I f ≤ u
  | [], _ => hb
  | j :: I, h => by
    have h1 := h j (by simp)
    have h2 := maxOver_le hb (I := I) (fun i hi => h i (by simp [hi]))
    have h3 := maxV_cases (f j) (maxOver b I f)
    simp only [maxOver]; grind

end Abs

section OrderedSums

/-- Sums are monotone. -/
theorem sumOver_le {f g : ι → α} : ∀ {I : List ι}, (∀ i ∈ I, f i ≤ g i) → sumOver I f ≤ sumOver I g
  | [], _ => Std.le_refl _
  | i :: I, h => by
    have h1 := h i (by simp)
    have h2 := sumOver_le (I := I) (fun j hj => h j (by simp [hj]))
    simp only [sumOver]; grind

/-- A sum of non-negative values is non-negative. -/
theorem sumOver_nn {f : ι → α} : ∀ {I : List ι}, (∀ i ∈ I, 0 ≤ f i) → 0 ≤ sumOver I f
  | [], _ => Std.le_refl _
  | i :: I, h => by
    have h1 := h i (by simp)
    have h2 := sumOver_nn (I := I) (fun j hj => h j (by simp [hj]))
    simp only [sumOver]; grind

/-- A sum of positive values over a non-empty list is positive. -/
theorem sumOver_ps {f : ι → α} : ∀ {I : List ι}, I ≠ [] → (∀ i ∈ I, 0 < f i) → 0 < sumOver I f
  | [], h, _ => absurd rfl h
  | i :: I, _, h => by
    have h1 := h i (by simp)
    have h2 := sumOver_nn (I := I) (f := f) (fun j hj => Std.le_of_lt (h j (by simp [hj])))
    simp only [sumOver]; grind

/-- Each term is at most a sum of non-negative values. -/
theorem le_sumOver {f : ι → α} : ∀ {I : List ι} {i : ι}, i ∈ I → (∀ j ∈ I, 0 ≤ f j) → f i ≤ sumOver I f
  | [], _, h, _ => by simp at h
  | j :: I, i, h, hf => by
    have h1 := hf j (by simp)
    have h2 := sumOver_nn (I := I) (f := f) (fun k hk => hf k (by simp [hk]))
    simp only [sumOver]
    rcases List.mem_cons.mp h with rfl | h
    · grind
    · have := le_sumOver (f := f) h (fun k hk => hf k (by simp [hk])); grind

/-- The triangle inequality for sums. -/
theorem absV_sumOver_le (f : ι → α) : ∀ I : List ι, absV (sumOver I f) ≤ sumOver I fun i => absV (f i)
  | [] => by have := absV_cases (0 : α); simp only [sumOver]; grind
  | i :: I => by
    have h1 := absV_sumOver_le f I
    have h2 := absV_add_le (f i) (sumOver I f)
    simp only [sumOver]; grind

/-- A sum is positive only if the list is not empty and some term is positive. -/
theorem ne_nil_of_sumOver_ps {f : ι → α} {I : List ι} (h : 0 < sumOver I f) : I ≠ [] := by
  intro e
  subst e
  have h : (0 : α) < 0 := h
  grind

end OrderedSums

end ProofKV
end

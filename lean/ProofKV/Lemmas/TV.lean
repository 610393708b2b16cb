module

public import ProofKV.Base
public import ProofKV.Spec.Softmax

/-! Lemmas behind the total-variation bounds: subsets, extreme tilts, and the polynomial cores. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A tilt by positive ratios has a positive normaliser. -/
theorem tilt_total_pos {I : List ι} {p w : ι → α} (hp : IsDist I p) (hw : ∀ i ∈ I, 0 < w i) :
    0 < sumOver I fun i => p i * w i := by
  have h0 : 0 ≤ sumOver I fun i => p i * w i :=
    sumOver_nn fun i hi => mul_nn (hp.nonneg i hi) (Std.le_of_lt (hw i hi))
  by_cases e : (sumOver I fun i => p i * w i) = 0
  · exfalso
    have hz : ∀ i ∈ I, p i = 0 := by
      intro i hi
      have h1 := le_sumOver (f := fun i => p i * w i) hi
        (fun j hj => mul_nn (hp.nonneg j hj) (Std.le_of_lt (hw j hj)))
      have h2 := hp.nonneg i hi
      have h3 := hw i hi
      by_cases e2 : p i = 0
      · exact e2
      · have := mul_ps (a := p i) (by grind) h3
        grind
    have h1 := hp.total
    rw [sumOver_congr (g := fun _ => 0) hz, sumOver_zero] at h1
    have := one_pos (α := α)
    grind
  · grind

/-- A tilted distribution has total mass one. -/
theorem tilt_total {I : List ι} {p w : ι → α} (h : 0 < sumOver I fun i => p i * w i) :
    sumOver I (tilt I p w) = 1 := by
  unfold tilt
  rw [sumOver_div]
  grind

/-- The difference of two functions with equal sums, taken where it is positive, is their total variation distance. -/
theorem tv_eq_choice {I : List ι} {p q : ι → α} (h : sumOver I p = sumOver I q) :
    tv I p q = sumOver I fun i => (if q i < p i then 1 else 0) * (p i - q i) := by
  have e : ∀ i, absV (p i - q i) = 2 * ((if q i < p i then 1 else 0) * (p i - q i)) - (p i - q i) := by
    intro i
    by_cases hi : q i < p i <;> simp only [hi, if_true, if_false] <;> rcases absV_cases (p i - q i) with h | h <;> grind
  unfold tv
  rw [sumOver_congr fun i _ => e i, sumOver_sub, sumOver_mul, sumOver_sub, h]
  have := one_pos (α := α)
  grind

/-- Any share of a difference of two functions with equal sums is at most their total variation distance. -/
theorem choice_le_tv {I : List ι} {p q x : ι → α} (h : sumOver I p = sumOver I q) (hx : IsShare I x) :
    (sumOver I fun i => x i * (p i - q i)) ≤ tv I p q := by
  rw [tv_eq_choice h]
  refine sumOver_le fun i hi => ?_
  have hx := hx i hi
  by_cases hi : q i < p i <;> simp only [hi, if_true, if_false]
  · have := mul_le_right (c := p i - q i) (by grind) hx.2; grind
  · have := mul_nn hx.1 (b := q i - p i) (by grind); grind

/-- Total variation distance is symmetric. -/
theorem tv_comm (I : List ι) (p q : ι → α) : tv I p q = tv I q p := by
  unfold tv
  rw [sumOver_congr (g := fun i => absV (q i - p i)) fun i _ => by
    rcases absV_cases (p i - q i) with h | h <;> rcases absV_cases (q i - p i) with h' | h' <;> grind]

/-- A normalised share of a tilt minus the share of `p`, as one quotient. -/
theorem choice_tilt {I : List ι} (p w x : ι → α) :
    (sumOver I fun i => x i * (tilt I p w i - p i)) =
      (sumOver I fun i => x i * (p i * w i)) / (sumOver I fun i => p i * w i) - sumOver I fun i => x i * p i := by
  rw [← sumOver_div, ← sumOver_sub]
  exact sumOver_congr fun i _ => by unfold tilt; grind

/-- Sums split into a share and its complement. -/
theorem share_add {I : List ι} (f x : ι → α) :
    (sumOver I fun i => x i * f i) + (sumOver I fun i => (1 - x i) * f i) = sumOver I f := by
  rw [← sumOver_add]
  exact sumOver_congr fun i _ => by grind

/-- A share of non-negative values is non-negative. -/
theorem share_nn {I : List ι} {f x : ι → α} (hx : IsShare I x) (hf : ∀ i ∈ I, 0 ≤ f i) :
    0 ≤ sumOver I fun i => x i * f i := sumOver_nn fun i hi => mul_nn (hx i hi).1 (hf i hi)

/-- The complement of a share of non-negative values is non-negative. -/
theorem rest_nn {I : List ι} {f x : ι → α} (hx : IsShare I x) (hf : ∀ i ∈ I, 0 ≤ f i) :
    0 ≤ sumOver I fun i => (1 - x i) * f i :=
  sumOver_nn fun i hi => mul_nn (by have := (hx i hi).2; grind) (hf i hi)

/-- Shares are monotone. -/
theorem share_le {I : List ι} {f g x : ι → α} (hx : IsShare I x) (h : ∀ i ∈ I, f i ≤ g i) :
    (sumOver I fun i => x i * f i) ≤ sumOver I fun i => x i * g i :=
  sumOver_le fun i hi => mul_le_left (hx i hi).1 (h i hi)

/-- Complements of shares are monotone. -/
theorem rest_le {I : List ι} {f g x : ι → α} (hx : IsShare I x) (h : ∀ i ∈ I, f i ≤ g i) :
    (sumOver I fun i => (1 - x i) * f i) ≤ sumOver I fun i => (1 - x i) * g i :=
  sumOver_le fun i hi => mul_le_left (by have := (hx i hi).2; grind) (h i hi)

/-- The complement of a share is a share. -/
theorem IsShare.compl {I : List ι} {x : ι → α} (hx : IsShare I x) : IsShare I fun i => 1 - x i :=
  fun i hi => by have := hx i hi; grind

/-- A 0/1 choice is a share. -/
theorem isShare_choice (I : List ι) (A : ι → Prop) : IsShare I fun i => if A i then (1 : α) else 0 := by
  intro i _
  have := one_pos (α := α)
  by_cases h : A i <;> simp only [h, if_true, if_false] <;> grind

/-- The upper end of a box dominates its lower end. -/
theorem InBox.le {I : List ι} {l u w : ι → α} (h : InBox I l u w) : ∀ i ∈ I, l i ≤ u i := fun i hi =>
  Std.le_trans (h.lower i hi) (h.upper i hi)

/-- A ratio bound as a box. -/
theorem InRatio.inBox {I : List ι} {r w : ι → α} (h : InRatio I r w) : InBox I (fun i => (r i)⁻¹) r w where
  pos i hi := inv_ps (by have := h.one_le i hi; have := one_pos (α := α); grind)
  lower i hi := by
    have h1 := h.one_le i hi
    have h2 := h.lower i hi
    have h0 := one_pos (α := α)
    have h3 : 0 < r i := by grind
    exact le_of_mul h3 (by rw [Field.mul_inv_cancel (by grind)]; exact h2)
  upper := h.upper

/-- Ratios within a ratio bound are positive. -/
theorem InRatio.pos {I : List ι} {r w : ι → α} (h : InRatio I r w) : ∀ i ∈ I, 0 < w i := fun i hi => by
  have h1 := h.inBox.pos i hi
  have h2 := h.inBox.lower i hi
  have h2 : (r i)⁻¹ ≤ w i := h2
  have h1 : 0 < (r i)⁻¹ := h1
  grind

/-- The denominator of a gain is positive. -/
theorem gain_den_pos {I : List ι} {p l u x : ι → α} (hp : IsDist I p) (hl : ∀ i ∈ I, 0 < l i)
    (hlu : ∀ i ∈ I, l i ≤ u i) (hx : IsShare I x) :
    0 < (sumOver I fun i => x i * (p i * u i)) + sumOver I fun i => (1 - x i) * (p i * l i) := by
  have h1 := tilt_total_pos hp hl
  have h2 := share_add (I := I) (fun i => p i * l i) x
  have h3 := share_le (f := fun i => p i * l i) (g := fun i => p i * u i) hx
    fun i hi => mul_le_left (hp.nonneg i hi) (hlu i hi)
  grind

/-- Comparing two quotients `a / (a + b)`. -/
theorem odds_mono {a b a' b' : α} (ha : 0 ≤ a) (hb' : 0 ≤ b') (h1 : a ≤ a') (h2 : b' ≤ b) (hd : 0 < a + b)
    (hd' : 0 < a' + b') : a / (a + b) ≤ a' / (a' + b') := by
  refine div_le_div_cross hd hd' ?_
  have := mul_le_both ha (d := b) (by grind) h1 h2
  grind

/-- The extreme tilt bounds every share of every tilt in the box. -/
theorem choice_le_gain {I : List ι} {p l u w x : ι → α} (hp : IsDist I p) (hb : InBox I l u w) (hx : IsShare I x) :
    (sumOver I fun i => x i * (tilt I p w i - p i)) ≤ gain I p l u x := by
  have hw : ∀ i ∈ I, 0 < w i := fun i hi => by have := hb.pos i hi; have := hb.lower i hi; grind
  have hl : ∀ i ∈ I, 0 ≤ p i * l i := fun i hi => mul_nn (hp.nonneg i hi) (Std.le_of_lt (hb.pos i hi))
  have h1 := share_le (f := fun i => p i * w i) (g := fun i => p i * u i) hx
    fun i hi => mul_le_left (hp.nonneg i hi) (hb.upper i hi)
  have h2 := rest_le (f := fun i => p i * l i) (g := fun i => p i * w i) hx
    fun i hi => mul_le_left (hp.nonneg i hi) (hb.lower i hi)
  have h3 := share_nn (f := fun i => p i * w i) hx
    fun i hi => mul_nn (hp.nonneg i hi) (Std.le_of_lt (hw i hi))
  have h4 := rest_nn (f := fun i => p i * l i) hx hl
  have h5 := gain_den_pos hp hb.pos hb.le hx
  have h6 := tilt_total_pos hp hw
  have h7 := share_add (I := I) (fun i => p i * w i) x
  rw [choice_tilt, ← h7]
  rw [← h7] at h6
  have := odds_mono h3 h4 h1 h2 h6 h5
  unfold gain
  grind

/-- The total variation distance of a tilt in the box is at most the gain of some 0/1 choice. -/
theorem tv_le_gain {I : List ι} {p l u w : ι → α} (hp : IsDist I p) (hb : InBox I l u w) :
    tv I (tilt I p w) p ≤ gain I p l u fun i => if p i < tilt I p w i then 1 else 0 := by
  have hw : ∀ i ∈ I, 0 < w i := fun i hi => by have := hb.pos i hi; have := hb.lower i hi; grind
  rw [tv_eq_choice ((tilt_total (tilt_total_pos hp hw)).trans hp.total.symm)]
  exact choice_le_gain hp hb (isShare_choice I _)

/-- What bounds every gain bounds the total variation distance of every tilt in the box. -/
theorem tv_le_of_gain {I : List ι} {p l u w : ι → α} {T : α} (hp : IsDist I p) (hb : InBox I l u w)
    (h : ∀ x, IsShare I x → gain I p l u x ≤ T) : tv I (tilt I p w) p ≤ T :=
  Std.le_trans (tv_le_gain hp hb) (h _ (isShare_choice I _))

/-- The polynomial core of the odds bound. -/
theorem odds_core {k P Q a b : α} (hk : 1 ≤ k) (hP : 0 ≤ P) (hQ : 0 ≤ Q) (hPQ : P + Q = 1) (ha : 0 ≤ a) (hb : 0 ≤ b)
    (h : a * Q ≤ k * k * (P * b)) : (k + 1) * (a * Q - b * P) ≤ (k - 1) * (a + b) := by
  have h0 := one_pos (α := α)
  have e : (k - 1) * (a + b) - (k + 1) * (a * Q - b * P) = a * ((k + 1) * P - 2) + b * (k - 1 + (k + 1) * P) := by grind
  have hkP := mul_nn (a := k + 1) (b := P) (by grind) hP
  have hbk := mul_nn hb (b := k - 1 + (k + 1) * P) (by grind)
  rcases Std.le_total (a := 2) (b := (k + 1) * P) with h2 | h2
  · have := mul_nn ha (b := (k + 1) * P - 2) (by grind); grind
  · by_cases hQ0 : Q = 0
    · have hP1 : P = 1 := by grind
      have : 2 ≤ (k + 1) * P := by rw [hP1]; grind
      have := mul_nn ha (b := (k + 1) * P - 2) (by grind); grind
    · have hQ' : 0 < Q := by grind
      have h3 := mul_le_right (c := 2 - (k + 1) * P) (by grind) h
      have h4 := mul_nn hb (mul_nn (a := k - 1) (by grind) (sq_nn ((k + 1) * P - 1)))
      have h5 : 0 ≤ Q * ((k - 1) * (a + b) - (k + 1) * (a * Q - b * P)) := by
        rw [e]
        have : Q = 1 - P := by grind
        subst this
        grind
      have := nn_of_mul hQ' h5
      grind

/-- A gain in terms of odds. -/
theorem gain_le_odds {k P Q a b : α} (hk : 1 ≤ k) (hP : 0 ≤ P) (hQ : 0 ≤ Q) (hPQ : P + Q = 1) (ha : 0 ≤ a)
    (hb : 0 ≤ b) (hd : 0 < a + b) (h : a * Q ≤ k * k * (P * b)) : a / (a + b) - P ≤ (k - 1) / (k + 1) := by
  have h0 := one_pos (α := α)
  have h1 := odds_core hk hP hQ hPQ ha hb h
  have h2 : a / (a + b) - P = (a * Q - b * P) / (a + b) := by
    have : Q = 1 - P := by grind
    subst this
    grind
  rw [h2]
  exact div_le_div_cross hd (by grind) (by grind)

end ProofKV
end

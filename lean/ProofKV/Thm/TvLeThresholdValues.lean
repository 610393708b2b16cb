module

public import ProofKV.Spec.Softmax
public import ProofKV.Spec.Thresholds
import ProofKV.Lemmas.Thresholds
import ProofKV.Lemmas.Witness
import ProofKV.Thm.ClassGainLe
import ProofKV.Thm.GainLeThresholds

/-! The optimum over all shares of tokens from the closed forms of the threshold sets. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A sum weighted by a threshold set: the tokens outside, and the part `t` of the class. -/
theorem sum_twoSided {I : List ι} {o : ι → α} {i j c : ι} (t : α) (f : ι → α) (hij : o i ≤ o j) (hc : c = i ∨ c = j) :
    (sumOver I fun k => twoSided o i j c t k * f k) =
      sumIf (fun k => o k < o i ∨ o j < o k) I f + t * sumIf (fun k => o k = o c) I f := by
  unfold sumIf
  rw [← sumOver_mul, ← sumOver_add]
  refine sumOver_congr fun k _ => ?_
  unfold twoSided
  by_cases h : o k < o i ∨ o j < o k
  · have h' : ¬ o k = o c := fun e => by rcases hc with rfl | rfl <;> grind
    simp only [h, h', if_true, if_false]
    grind
  · by_cases h' : o k = o c <;> simp only [h, h', if_true, if_false] <;> grind

/-- A factor that is constant on a class comes out of its sum. -/
theorem sumIf_const {I : List ι} {A : ι → Prop} {p f : ι → α} {d : α} (h : ∀ k ∈ I, A k → f k = d) :
    sumIf A I (fun k => p k * f k) = sumIf A I p * d := by
  unfold sumIf
  rw [← sumOver_mul_right]
  refine sumOver_congr fun k hk => ?_
  by_cases e : A k
  · simp only [e, if_true, h k hk e]
  · simp only [e, if_false]; grind

/-- The gain of a threshold set is at most the closed form of its class. -/
theorem gain_twoSided_le {I : List ι} {p r o : ι → α} {i j c : ι} {t y : α} (hp : IsDist I p)
    (hr : ∀ k ∈ I, 1 ≤ r k) (ho : ∀ a ∈ I, ∀ b ∈ I, o a ≤ o b → r a ≤ r b) (hi : i ∈ I) (hj : j ∈ I) (hij : o i ≤ o j)
    (hc : c = i ∨ c = j) (ht0 : 0 ≤ t) (ht1 : t ≤ 1) (hyc : y * y ≤ thresholdRadicand I p r o i j c) :
    gain I p (fun k => (r k)⁻¹) r (twoSided o i j c t) ≤ thresholdValue I p r o i j c y := by
  have one := one_pos (α := α)
  have hcI : c ∈ I := by rcases hc with rfl | rfl <;> assumption
  have hl : ∀ k ∈ I, 0 < (r k)⁻¹ := fun k hk => (inv_le_self (hr k hk)).1
  have hlu : ∀ k ∈ I, (r k)⁻¹ ≤ r k := fun k hk => (inv_le_self (hr k hk)).2
  have hcls : ∀ k ∈ I, o k = o c → r k = r c := fun k hk e =>
    Std.le_antisymm (ho k hk c hcI (by grind)) (ho c hcI k hk (by grind))
  have share : IsShare I (twoSided o i j c 0) := isShare_twoSided (by grind) (by grind)
  have hD := gain_den_pos hp hl hlu share
  have hm : 0 ≤ sumIf (fun k => o k = o c) I p := sumOver_nn fun k hk => by
    have := hp.nonneg k hk
    by_cases h : o k = o c <;> simp only [h, if_true, if_false] <;> grind
  have e1 := sum_twoSided (I := I) (c := c) t (fun k => p k * r k) hij hc
  have e2 := sum_twoSided (I := I) (c := c) t (fun k => p k * (r k)⁻¹) hij hc
  have e3 := sum_twoSided (I := I) (c := c) t p hij hc
  have e4 := sum_twoSided (I := I) (c := c) 0 (fun k => p k * r k) hij hc
  have e5 := sum_twoSided (I := I) (c := c) 0 (fun k => p k * (r k)⁻¹) hij hc
  have c1 : sumIf (fun k => o k = o c) I (fun k => p k * r k) = sumIf (fun k => o k = o c) I p * r c :=
    sumIf_const hcls
  have c2 : sumIf (fun k => o k = o c) I (fun k => p k * (r k)⁻¹) = sumIf (fun k => o k = o c) I p * (r c)⁻¹ :=
    sumIf_const (f := fun k => (r k)⁻¹) fun k hk e => congrArg (·⁻¹) (hcls k hk e)
  have s1 := share_add (I := I) (fun k => p k * (r k)⁻¹) (twoSided o i j c t)
  have s2 := share_add (I := I) (fun k => p k * (r k)⁻¹) (twoSided o i j c 0)
  unfold thresholdValue
  unfold thresholdRadicand at hyc
  unfold gain
  generalize (sumIf (fun k => o k < o i ∨ o j < o k) I fun k => p k * r k) = a at *
  generalize (sumIf (fun k => o k < o i ∨ o j < o k) I fun k => p k * (r k)⁻¹) = b' at *
  generalize sumIf (fun k => o k < o i ∨ o j < o k) I p = P at *
  generalize sumIf (fun k => o k = o c) I p = m at *
  generalize (sumOver I fun k => p k * (r k)⁻¹) = B at *
  have r1 : (sumOver I fun k => (1 - twoSided o i j c t k) * (p k * (r k)⁻¹)) = B - b' - t * (m * (r c)⁻¹) := by
    rw [← c2]; grind
  have r2 : (sumOver I fun k => (1 - twoSided o i j c 0 k) * (p k * (r k)⁻¹)) = B - b' := by grind
  rw [e4, r2] at hD
  rw [e1, e3, r1, c1]
  have main := class_gain_le (a := a) (b := B - b') (P := P) (m := m) (l := (r c)⁻¹) (u := r c) (t := t) (y := y)
    (by grind) hm (hlu c hcI) ht0 ht1 hyc
  have d : a + t * (m * r c) + (B - b' - t * (m * (r c)⁻¹)) = a + (B - b') + t * (m * (r c - (r c)⁻¹)) := by grind
  rw [d]
  exact main

/-- The largest closed form bounds the gain of every share. -/
theorem gain_le_threshold_values {I : List ι} {p r o : ι → α} {y : ι → ι → ι → α} {T : α}
    (hp : IsDist I p)
    (hr : ∀ i ∈ I, 1 ≤ r i)
    (ho : ∀ i ∈ I, ∀ j ∈ I, o i ≤ o j → r i ≤ r j)
    (hy : ∀ i ∈ I, ∀ j ∈ I, o i ≤ o j → ∀ c, (c = i ∨ c = j) → y i j c * y i j c ≤ thresholdRadicand I p r o i j c)
    (hT : ∀ i ∈ I, ∀ j ∈ I, o i ≤ o j → ∀ c, (c = i ∨ c = j) → thresholdValue I p r o i j c (y i j c) ≤ T) :
    ∀ x, IsShare I x → gain I p (fun k => (r k)⁻¹) r x ≤ T := fun _ hx =>
  gain_le_thresholds hp hr ho hx fun i hi j hj hij c hc _ ht0 ht1 =>
    Std.le_trans (gain_twoSided_le hp hr ho hi hj hij hc ht0 ht1 (hy i hi j hj hij c hc)) (hT i hi j hj hij c hc)

/-- **Optimum over parts of tokens**: let `o` be an order of the tokens in which the ratio bounds do not decrease. Try all
pairs of places `o i ≤ o j`: take the tokens before `i` and after `j`, and those at the place of `i` or of `j` in part, by
the closed form with any root `y` rounded down. The largest of these numbers bounds the total variation distance. -/
theorem tv_le_threshold_values {I : List ι} {p r o w : ι → α} {y : ι → ι → ι → α} {T : α}
    (hp : IsDist I p)
    (hw : InRatio I r w)
    (ho : ∀ i ∈ I, ∀ j ∈ I, o i ≤ o j → r i ≤ r j)
    (hy : ∀ i ∈ I, ∀ j ∈ I, o i ≤ o j → ∀ c, (c = i ∨ c = j) → y i j c * y i j c ≤ thresholdRadicand I p r o i j c)
    (hT : ∀ i ∈ I, ∀ j ∈ I, o i ≤ o j → ∀ c, (c = i ∨ c = j) → thresholdValue I p r o i j c (y i j c) ≤ T) :
    tv I (tilt I p w) p ≤ T :=
  tv_le_of_gain hp hw.inBox (gain_le_threshold_values hp hw.one_le ho hy hT)

/-- For one token of ratio three the number is one half, with the root one. -/
theorem one_token_value (i j c : Unit) :
    (1 : Rat) * 1 ≤ thresholdRadicand [()] (fun _ => (1 : Rat)) (fun _ => 3) (fun _ => 0) i j c ∧
      thresholdValue [()] (fun _ => (1 : Rat)) (fun _ => 3) (fun _ => 0) i j c 1 ≤ 1 / 2 := by
  have h : ¬ ((0 : Rat) < 0 ∨ (0 : Rat) < 0) := by grind
  simp only [thresholdRadicand, thresholdValue, classValue, sumIf, sumOver, h, if_true, if_false]
  constructor
  · grind
  · have h1 : (3 : Rat)⁻¹ < 3 := by grind
    have h2 : ¬ ((1 * (3 : Rat)⁻¹ + 0 - (0 + 0)) * 3 + (0 + 0) * (3 : Rat)⁻¹ ≤
      (0 + 0 + (1 * (3 : Rat)⁻¹ + 0 - (0 + 0))) * (0 + 0 + (1 * (3 : Rat)⁻¹ + 0 - (0 + 0)))) := by grind
    have h3 : ¬ ((0 + 0 + (1 * (3 : Rat)⁻¹ + 0 - (0 + 0)) + (1 + 0) * (3 - (3 : Rat)⁻¹)) *
      (0 + 0 + (1 * (3 : Rat)⁻¹ + 0 - (0 + 0)) + (1 + 0) * (3 - (3 : Rat)⁻¹)) ≤
      (1 * (3 : Rat)⁻¹ + 0 - (0 + 0)) * 3 + (0 + 0) * (3 : Rat)⁻¹) := by grind
    simp only [h1, h2, h3, if_true, if_false]
    grind

example : tv [()] (tilt [()] (fun _ => (1 : Rat)) fun _ => 2) (fun _ => 1) ≤ 1 / 2 :=
  tv_le_threshold_values (r := fun _ => 3) (o := fun _ => 0) (y := fun _ _ _ => 1)
    ⟨fun _ _ => by grind, by simp only [sumOver]; grind⟩
    ⟨fun _ _ => by grind, fun _ _ => by grind, fun _ _ => by grind⟩ (fun _ _ _ _ _ => Std.le_refl _)
    (fun i _ j _ _ c _ => (one_token_value i j c).1) fun i _ j _ _ c _ => (one_token_value i j c).2

end ProofKV
end

module

public import ProofKV.Base
public import ProofKV.Spec.Eviction
public import ProofKV.Spec.Seminorm

/-! Lemmas behind the eviction theorems: seminorms of combinations, splits along the kept tokens. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

section Seminorms

variable {κ : Type w} {N : (κ → α) → α}

/-- A seminorm vanishes at zero. -/
theorem IsSeminorm.zero (hN : IsSeminorm N) : N (fun _ => 0) = 0 := by
  have h := hN.scale 0 (fun _ => 0)
  have e : (fun _ : κ => (0 : α) * 0) = fun _ => 0 := by funext k; grind
  rw [e] at h
  have := absV_cases (0 : α)
  grind

/-- A seminorm is even. -/
theorem IsSeminorm.neg (hN : IsSeminorm N) (x : κ → α) : N (fun k => - x k) = N x := by
  have h := hN.scale (-1) x
  have e : (fun k : κ => (-1 : α) * x k) = fun k => - x k := by funext k; grind
  rw [e] at h
  have := absV_cases (-1 : α)
  have := one_pos (α := α)
  grind

/-- A seminorm is non-negative. -/
theorem IsSeminorm.nn (hN : IsSeminorm N) (x : κ → α) : 0 ≤ N x := by
  have h := hN.add_le x (fun k => - x k)
  have e : (fun k : κ => x k + - x k) = fun _ => 0 := by funext k; grind
  rw [e, hN.zero, hN.neg] at h
  have := one_pos (α := α)
  grind

/-- The absolute value of a coordinate is a seminorm. -/
theorem isSeminorm_coordinate (k : κ) : IsSeminorm fun x : κ → α => absV (x k) where
  add_le x y := absV_add_le (x k) (y k)
  scale c x := absV_mul c (x k)

/-- Every seminorm bounds. -/
theorem IsSeminorm.isNormBound (hN : IsSeminorm N) : IsNormBound fun x t => N x ≤ t where
  zero := by rw [hN.zero]; exact Std.le_refl _
  nonneg {x _} h := Std.le_trans (hN.nn x) h
  add {x y _ _} h h' := by have := hN.add_le x y; grind
  scale c {x t} h := by rw [hN.scale]; exact mul_le_left (absV_nn c) h
  mono h h' := Std.le_trans h h'

/-- The absolute value of a coordinate bounds. -/
theorem isNormBound_coordinate (k : κ) : IsNormBound fun (x : κ → α) (t : α) => absV (x k) ≤ t :=
  (isSeminorm_coordinate k).isNormBound

variable {B : (κ → α) → α → Prop}

/-- Bounds of a negative. -/
theorem IsNormBound.neg (hB : IsNormBound B) {x : κ → α} {t : α} (h : B x t) : B (fun k => - x k) t := by
  have h1 := hB.scale (-1) h
  have e : (fun k : κ => (-1 : α) * x k) = fun k => - x k := by funext k; grind
  have e2 : absV (-1 : α) * t = t := by
    have := absV_cases (-1 : α)
    have := one_pos (α := α)
    grind
  rw [e, e2] at h1
  exact h1

/-- A non-negative combination of bounded vectors. -/
theorem IsNormBound.sumOver (hB : IsNormBound B) {a b : ι → α} {x : ι → κ → α} :
    ∀ {I : List ι}, (∀ i ∈ I, 0 ≤ a i) → (∀ i ∈ I, a i ≠ 0 → B (x i) (b i)) →
      B (fun k => sumOver I fun i => a i * x i k) (sumOver I fun i => a i * b i)
  | [], _, _ => hB.zero
  | i :: I, ha, hx => by
    have h1 := hB.sumOver (I := I) (fun j hj => ha j (by simp [hj])) (fun j hj => hx j (by simp [hj]))
    have h4 := ha i (by simp)
    have h2 : B (fun k => a i * x i k) (a i * b i) := by
      by_cases e : a i = 0
      · have e2 : (fun k => a i * x i k) = fun _ => 0 := by funext k; rw [e]; grind
        rw [e2]
        exact hB.mono hB.zero (by rw [e]; grind)
      · have h3 := hB.scale (a i) (hx i (by simp) e)
        have h6 : absV (a i) = a i := by rcases absV_cases (a i) with h | h <;> grind
        rw [h6] at h3
        exact h3
    exact hB.add h2 h1

/-- A non-negative combination of vectors with one bound. -/
theorem IsNormBound.sumOver_const (hB : IsNormBound B) {I : List ι} {a : ι → α} {x : ι → κ → α} {b : α}
    (ha : ∀ i ∈ I, 0 ≤ a i) (hx : ∀ i ∈ I, a i ≠ 0 → B (x i) b) :
    B (fun k => ProofKV.sumOver I fun i => a i * x i k) (ProofKV.sumOver I a * b) := by
  have h := hB.sumOver (b := fun _ => b) ha hx
  rw [sumOver_mul_right] at h
  exact h

/-- The square of a sum of products, bounded by Cauchy and Schwarz. -/
theorem cauchy_sums (J : List κ) (x y : κ → α) : (sumOver J fun k => x k * y k) * (sumOver J fun k => x k * y k) ≤
    (sumOver J fun k => x k * x k) * (sumOver J fun k => y k * y k) := by
  have hnn : ∀ x : κ → α, 0 ≤ sumOver J fun k => x k * x k := fun x => sumOver_nn fun k _ => sq_nn _
  have hq : ∀ a b : α, 0 ≤ a * a * (sumOver J fun k => x k * x k) - 2 * (a * b) * (sumOver J fun k => x k * y k) +
      b * b * sumOver J fun k => y k * y k := fun a b => by
    have h := hnn fun k => a * x k - b * y k
    have e : (sumOver J fun k => (a * x k - b * y k) * (a * x k - b * y k)) =
        a * a * (sumOver J fun k => x k * x k) - 2 * (a * b) * (sumOver J fun k => x k * y k) +
          b * b * sumOver J fun k => y k * y k := by
      rw [← sumOver_mul, ← sumOver_mul, ← sumOver_mul, ← sumOver_sub, ← sumOver_add]
      exact sumOver_congr fun k _ => by grind
    rw [e] at h
    exact h
  have hX := hnn x
  have hY := hnn y
  generalize (sumOver J fun k => x k * x k) = X at *
  generalize (sumOver J fun k => y k * y k) = Y at *
  generalize (sumOver J fun k => x k * y k) = Z at *
  by_cases e : Y = 0
  · subst e
    by_cases e2 : Z = 0
    · rw [e2]; grind
    · have h0 := one_pos (α := α)
      have h1 := hq 1 ((X + 1) / (2 * Z))
      have h2 : 2 * (1 * ((X + 1) / (2 * Z))) * Z = X + 1 := by grind
      grind
  · have h1 := hq Y Z
    have h2 : 0 < Y := by grind
    have h3 : 0 ≤ Y * (X * Y - Z * Z) := by grind
    have := nn_of_mul h2 h3
    grind

/-- The Euclidean norm by squares bounds. -/
theorem isNormBound_euclid (J : List κ) : IsNormBound (EuclidLe (α := α) J) where
  zero := ⟨Std.le_refl _, by
    have e : (sumOver J fun _ : κ => (0 : α) * 0) = 0 := by
      rw [sumOver_mul]; grind
    rw [e]; grind⟩
  nonneg h := h.1
  add {x y s t} h h' := ⟨by have := h.1; have := h'.1; grind, by
    have e : (sumOver J fun k => (x k + y k) * (x k + y k)) =
        (sumOver J fun k => x k * x k) + 2 * (sumOver J fun k => x k * y k) + sumOver J fun k => y k * y k := by
      rw [← sumOver_mul, ← sumOver_add, ← sumOver_add]
      exact sumOver_congr fun k _ => by grind
    have hX : 0 ≤ sumOver J fun k => x k * x k := sumOver_nn fun k _ => sq_nn _
    have h1 := cauchy_sums J x y
    have h2 := mul_le_both hX (mul_nn h'.1 h'.1) h.2 h'.2
    have h3 := (absV_le.mp (absV_le_of_sq (a := sumOver J fun k => x k * y k) (b := s * t) (mul_nn h.1 h'.1)
      (by grind))).2
    have h4 := h.2
    have h5 := h'.2
    rw [e]
    grind⟩
  scale c {x t} h := ⟨mul_nn (absV_nn c) h.1, by
    have e : (sumOver J fun k => c * x k * (c * x k)) = c * c * sumOver J fun k => x k * x k := by
      rw [← sumOver_mul]
      exact sumOver_congr fun k _ => by grind
    have h1 := mul_le_left (sq_nn c) h.2
    have h2 : absV c * absV c = c * c := by rcases absV_cases c with h | h <;> grind
    have h3 : absV c * t * (absV c * t) = c * c * (t * t) := by rw [← h2]; grind
    rw [e, h3]
    exact h1⟩
  mono {x s t} h h' := ⟨Std.le_trans h.1 h', Std.le_trans h.2 (mul_le_both h.1 (Std.le_trans h.1 h') h' h')⟩

end Seminorms

/-- A conditional sum adds termwise. -/
theorem sumIf_sub (A : ι → Prop) (I : List ι) (f g : ι → α) :
    sumIf A I (fun i => f i - g i) = sumIf A I f - sumIf A I g := by
  unfold sumIf
  rw [← sumOver_sub]
  exact sumOver_congr fun i _ => by by_cases h : A i <;> simp only [h, if_true, if_false]; grind

/-- A common factor comes out of a conditional sum on the right. -/
theorem sumIf_mul_right (A : ι → Prop) (I : List ι) (f : ι → α) (c : α) :
    sumIf A I (fun i => f i * c) = sumIf A I f * c := by
  unfold sumIf
  rw [← sumOver_mul_right]
  exact sumOver_congr fun i _ => by by_cases h : A i <;> simp only [h, if_true, if_false]; grind

/-- A conditional sum of non-negative values is non-negative. -/
theorem sumIf_nonneg {A : ι → Prop} {I : List ι} {f : ι → α} (h : ∀ i ∈ I, A i → 0 ≤ f i) : 0 ≤ sumIf A I f := by
  refine sumOver_nn fun i hi => ?_
  by_cases hA : A i <;> simp only [hA, if_true, if_false]
  · exact h i hi hA
  · exact Std.le_refl _

/-- Conditional sums are monotone. -/
theorem sumIf_mono {A : ι → Prop} {I : List ι} {f g : ι → α} (h : ∀ i ∈ I, A i → f i ≤ g i) :
    sumIf A I f ≤ sumIf A I g := by
  refine sumOver_le fun i hi => ?_
  by_cases hA : A i <;> simp only [hA, if_true, if_false]
  · exact h i hi hA
  · exact Std.le_refl _

/-- A conditional sum depends only on the values where the condition holds. -/
theorem sumIf_congr {A : ι → Prop} {I : List ι} {f g : ι → α} (h : ∀ i ∈ I, A i → f i = g i) :
    sumIf A I f = sumIf A I g := by
  refine sumOver_congr fun i hi => ?_
  by_cases hA : A i <;> simp only [hA, if_true, if_false]
  exact h i hi hA

/-- The kept mass is what the evicted mass leaves. -/
theorem kept_add_evicted {I : List ι} {K : ι → Prop} {p : ι → α} (hp : IsDist I p) :
    sumIf K I p + evictedMass I K p = 1 :=
  (sumIf_add_not K I p).trans hp.total

/-- The output after eviction times the kept mass is the kept part of the exact output. -/
theorem kept_mean {I : List ι} {K : ι → Prop} {p : ι → α} (hkept : 0 < sumIf K I p) (f : ι → α) :
    sumIf K I p * mean I (keptDist I K p) f = sumIf K I fun i => p i * f i := by
  unfold mean
  rw [← sumOver_mul]
  unfold sumIf at hkept ⊢
  refine sumOver_congr fun i _ => ?_
  by_cases h : K i <;> simp only [keptDist, sumIf, h, if_true, if_false] <;> grind

/-- **Eviction identity**: the error of the renormalised output is the evicted mass times the distance from the output
to the evicted values, written without division. -/
theorem eviction_error_eq {I : List ι} {K : ι → Prop} {p : ι → α} (hp : IsDist I p) (hkept : 0 < sumIf K I p)
    (f : ι → α) : mean I p f - mean I (keptDist I K p) f =
      sumIf (fun i => ¬ K i) I fun i => p i * (f i - mean I (keptDist I K p) f) := by
  have h1 := kept_mean hkept f
  have h2 := sumIf_add_not K I fun i => p i * f i
  have h3 := kept_add_evicted (K := K) hp
  have e : sumIf (fun i => ¬ K i) I (fun i => p i * (f i - mean I (keptDist I K p) f)) =
      sumIf (fun i => ¬ K i) I (fun i => p i * f i) - evictedMass I K p * mean I (keptDist I K p) f := by
    unfold evictedMass
    rw [← sumIf_mul_right, ← sumIf_sub]
    exact sumIf_congr fun i _ _ => by grind
  have h4 : mean I p f = sumOver I fun i => p i * f i := rfl
  rw [e]
  generalize mean I (keptDist I K p) f = o at *
  generalize evictedMass I K p = t at *
  grind

end ProofKV
end

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

/-- A non-negative combination of vectors of bounded seminorm. -/
theorem IsSeminorm.sumOver_le (hN : IsSeminorm N) {a : ι → α} {x : ι → κ → α} {B : α} :
    ∀ {I : List ι}, (∀ i ∈ I, 0 ≤ a i) → (∀ i ∈ I, a i ≠ 0 → N (x i) ≤ B) →
      N (fun k => sumOver I fun i => a i * x i k) ≤ sumOver I a * B
  | [], _, _ => by
    have := hN.zero
    simp only [sumOver]; grind
  | i :: I, ha, hB => by
    have h1 := hN.sumOver_le (I := I) (fun j hj => ha j (by simp [hj])) (fun j hj => hB j (by simp [hj]))
    have h2 := hN.add_le (fun k => a i * x i k) (fun k => sumOver I fun i => a i * x i k)
    have h3 := hN.scale (a i) (x i)
    have h4 := ha i (by simp)
    have h5 : a i * N (x i) ≤ a i * B := by
      by_cases e : a i = 0
      · rw [e]; grind
      · exact mul_le_left h4 (hB i (by simp) e)
    have h6 : absV (a i) = a i := by rcases absV_cases (a i) with h | h <;> grind
    rw [h3, h6] at h2
    have h7 : (a i + sumOver I a) * B = a i * B + sumOver I a * B := by grind
    simp only [sumOver]
    rw [h7]
    exact Std.le_trans h2 (by grind)

/-- The absolute value of a coordinate is a seminorm. -/
theorem isSeminorm_coordinate (k : κ) : IsSeminorm fun x : κ → α => absV (x k) where
  add_le x y := absV_add_le (x k) (y k)
  scale c x := absV_mul c (x k)

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

module

public import ProofKV.Lemmas.Eviction
import ProofKV.Lemmas.Witness

/-! A stored ball of the evicted values and a bound of the evicted mass bound the error of eviction. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

variable {κ : Type w}

/-- **Sidecar bound**: when the evicted values lie in the ball of centre `c` and radius `r`, the output after eviction is
within `m` of the centre, and the evicted mass is at most `t`, the error of the output after eviction is at most
`t (m + r)`, in any norm. With `c = 0` the radius is a stored norm of the evicted values. -/
theorem eviction_error_le {I : List ι} {K : ι → Prop} {p : ι → α} {v : ι → κ → α} {B : (κ → α) → α → Prop} {c : κ → α}
    {m r t : α}
    (hB : IsNormBound B)
    (hp : IsDist I p)
    (hkept : 0 < sumIf K I p)
    (hball : ∀ i ∈ I, ¬ K i → B (fun k => v i k - c k) r)
    (hr : 0 ≤ r)
    (hcentre : B (fun k => c k - mean I (keptDist I K p) fun i => v i k) m)
    (ht : evictedMass I K p ≤ t) :
    B (fun k => mean I p (fun i => v i k) - mean I (keptDist I K p) fun i => v i k) (t * (m + r)) := by
  have e : (fun k => mean I p (fun i => v i k) - mean I (keptDist I K p) fun i => v i k) =
      fun k => sumOver I fun i => (if ¬ K i then p i else 0) *
        (v i k - mean I (keptDist I K p) fun i => v i k) := by
    funext k
    rw [eviction_error_eq hp hkept]
    refine sumOver_congr fun i _ => ?_
    by_cases h : K i <;> simp only [h, if_true, if_false, not_true_eq_false, not_false_eq_true]
    grind
  have h1 : B (fun k => sumOver I fun i => (if ¬ K i then p i else 0) *
      (v i k - mean I (keptDist I K p) fun i => v i k)) (evictedMass I K p * (m + r)) := by
    have hm : evictedMass I K p = sumOver I fun i => if ¬ K i then p i else 0 :=
      sumOver_congr fun i _ => by
        by_cases h : K i <;> simp only [h, if_true, if_false, not_true_eq_false, not_false_eq_true]
    rw [hm]
    refine hB.sumOver_const (a := fun i => if ¬ K i then p i else 0)
      (x := fun i k => v i k - mean I (keptDist I K p) fun i => v i k) (fun i hi => ?_) fun i hi ha => ?_
    · by_cases h : K i <;> simp only [h, if_true, if_false, not_true_eq_false, not_false_eq_true]
      · exact Std.le_refl _
      · exact hp.nonneg i hi
    · have hK : ¬ K i := fun h => ha (by simp [h])
      have h2 := hB.add hcentre (hball i hi hK)
      have e2 : (fun k => (c k - mean I (keptDist I K p) fun i => v i k) + (v i k - c k)) =
          fun k => v i k - mean I (keptDist I K p) fun i => v i k := by funext k; grind
      rw [e2] at h2
      exact h2
  rw [e]
  refine hB.mono h1 (mul_le_right ?_ ht)
  have := hB.nonneg hcentre
  grind

example : EuclidLe [()] (fun _ => mean tok half (fun b => if b then 1 else -3) -
    mean tok (keptDist tok (fun b => b = true) half) fun b => if b then 1 else -3) (1 / 2 * ((1 : Rat) + 3)) := by
  have h : sumIf (fun b => b = true) tok half = 1 / 2 := by simp [sumIf, tok, sumOver, half]; grind
  have h' := kept_add_evicted (K := fun b => b = true) half_isDist
  have e : sumIf (fun b => b = true) [true, false] half = 1 / 2 := h
  have ho : mean tok (keptDist tok (fun b => b = true) half) (fun b => if b then 1 else -3) = 1 := by
    simp [mean, keptDist, tok, sumOver, half, e]; grind
  refine eviction_error_le (κ := Unit) (I := tok) (K := fun b => b = true) (p := half)
    (v := fun b _ => if b then 1 else -3) (B := EuclidLe [()]) (c := fun _ => 0) (m := 1) (r := 3) (t := 1 / 2)
    (isNormBound_euclid _) half_isDist (by rw [h]; grind) (fun i _ hi => ?_) (by grind) ?_ (by grind)
  · cases i
    · simp only [EuclidLe, sumOver, Bool.false_eq_true, if_false]; grind
    · simp at hi
  · simp only [EuclidLe, sumOver, ho]; grind

end ProofKV
end

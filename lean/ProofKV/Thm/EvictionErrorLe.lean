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

/-- **Sidecar bound**: when the evicted values lie in the ball of centre `c` and radius `r` and the evicted mass is at
most `t`, the error of the output after eviction is at most `t (‖c - output‖ + r)`, in any seminorm. With `c = 0` the
radius is a stored norm of the evicted values. -/
theorem eviction_error_le {I : List ι} {K : ι → Prop} {p : ι → α} {v : ι → κ → α} {N : (κ → α) → α} {c : κ → α} {r t : α}
    (hp : IsDist I p)
    (hkept : 0 < sumIf K I p)
    (hN : IsSeminorm N)
    (hball : ∀ i ∈ I, ¬ K i → N (fun k => v i k - c k) ≤ r)
    (hr : 0 ≤ r)
    (ht : evictedMass I K p ≤ t) :
    N (fun k => mean I p (fun i => v i k) - mean I (keptDist I K p) fun i => v i k) ≤
      t * (N (fun k => c k - mean I (keptDist I K p) fun i => v i k) + r) := by
  have e : (fun k => mean I p (fun i => v i k) - mean I (keptDist I K p) fun i => v i k) =
      fun k => sumOver I fun i => (if ¬ K i then p i else 0) *
        (v i k - mean I (keptDist I K p) fun i => v i k) := by
    funext k
    rw [eviction_error_eq hp hkept]
    refine sumOver_congr fun i _ => ?_
    by_cases h : K i <;> simp only [h, if_true, if_false, not_true_eq_false, not_false_eq_true]
    grind
  have h1 : N (fun k => sumOver I fun i => (if ¬ K i then p i else 0) *
      (v i k - mean I (keptDist I K p) fun i => v i k)) ≤ evictedMass I K p *
        (N (fun k => c k - mean I (keptDist I K p) fun i => v i k) + r) := by
    have hm : evictedMass I K p = sumOver I fun i => if ¬ K i then p i else 0 :=
      sumOver_congr fun i _ => by
        by_cases h : K i <;> simp only [h, if_true, if_false, not_true_eq_false, not_false_eq_true]
    rw [hm]
    refine hN.sumOver_le (a := fun i => if ¬ K i then p i else 0)
      (x := fun i k => v i k - mean I (keptDist I K p) fun i => v i k) (fun i hi => ?_) fun i hi ha => ?_
    · by_cases h : K i <;> simp only [h, if_true, if_false, not_true_eq_false, not_false_eq_true]
      · exact Std.le_refl _
      · exact hp.nonneg i hi
    · have hK : ¬ K i := fun h => ha (by simp [h])
      have h2 := hN.add_le (fun k => c k - mean I (keptDist I K p) fun i => v i k) (fun k => v i k - c k)
      have h3 := hball i hi hK
      have e2 : (fun k => (c k - mean I (keptDist I K p) fun i => v i k) + (v i k - c k)) =
          fun k => v i k - mean I (keptDist I K p) fun i => v i k := by funext k; grind
      rw [e2] at h2
      grind
  have h4 := hN.nn (fun k => c k - mean I (keptDist I K p) fun i => v i k)
  have h5 := mul_le_right (c := N (fun k => c k - mean I (keptDist I K p) fun i => v i k) + r) (by grind) ht
  rw [e]
  exact Std.le_trans h1 h5

example : absV (mean tok half (fun b => if b then 1 else -3) -
    mean tok (keptDist tok (fun b => b = true) half) fun b => if b then 1 else -3) ≤
      1 / 2 * (absV (0 - mean tok (keptDist tok (fun b => b = true) half) fun b => if b then 1 else -3) + 3) := by
  have h : sumIf (fun b => b = true) tok half = 1 / 2 := by simp [sumIf, tok, sumOver, half]; grind
  have h' := kept_add_evicted (K := fun b => b = true) half_isDist
  have hball : ∀ i ∈ tok, ¬ i = true → absV ((if i then 1 else -3) - (0 : Rat)) ≤ 3 := fun i _ hi => by
    cases i
    · simp only [Bool.false_eq_true, if_false]
      have := absV_cases ((-3 : Rat) - 0)
      grind
    · simp at hi
  exact eviction_error_le (κ := Unit) (I := tok) (K := fun b => b = true) (p := half)
    (v := fun b _ => if b then 1 else -3) (N := fun x => absV (x ())) (c := fun _ => 0) (r := 3) (t := 1 / 2) half_isDist
    (by grind) (isSeminorm_coordinate ()) hball (by grind) (by grind)

end ProofKV
end

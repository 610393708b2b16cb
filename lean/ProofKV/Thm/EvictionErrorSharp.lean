module

public import ProofKV.Lemmas.Eviction
import ProofKV.Lemmas.Witness

/-! The sidecar bound of eviction is attained. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

variable {κ : Type w}

/-- **The sidecar bound is sharp**: let `w` be a unit vector along the way from the output after eviction to the centre.
If every evicted value is the far point `c + r w` of the ball, the error is the evicted mass times
`‖c - output‖ + r`. -/
theorem eviction_error_eq_of_far {I : List ι} {K : ι → Prop} {p : ι → α} {v : ι → κ → α} {N : (κ → α) → α}
    {c w : κ → α} {r : α}
    (hp : IsDist I p)
    (hkept : 0 < sumIf K I p)
    (hN : IsSeminorm N)
    (hr : 0 ≤ r)
    (hunit : N w = 1)
    (hway : ∀ k, c k - mean I (keptDist I K p) (fun i => v i k) =
      N (fun k => c k - mean I (keptDist I K p) fun i => v i k) * w k)
    (hfar : ∀ i ∈ I, ¬ K i → ∀ k, v i k = c k + r * w k) :
    N (fun k => mean I p (fun i => v i k) - mean I (keptDist I K p) fun i => v i k) =
      evictedMass I K p * (N (fun k => c k - mean I (keptDist I K p) fun i => v i k) + r) := by
  have hd := hN.nn fun k => c k - mean I (keptDist I K p) fun i => v i k
  generalize N (fun k => c k - mean I (keptDist I K p) fun i => v i k) = d at *
  have ht : 0 ≤ evictedMass I K p := sumIf_nonneg fun i hi _ => hp.nonneg i hi
  have e : (fun k => mean I p (fun i => v i k) - mean I (keptDist I K p) fun i => v i k) =
      fun k => (evictedMass I K p * (d + r)) * w k := by
    funext k
    rw [eviction_error_eq hp hkept]
    unfold evictedMass
    rw [← sumIf_mul_right, ← sumIf_mul_right]
    refine sumIf_congr fun i hi hK => ?_
    have := hfar i hi hK k
    have := hway k
    grind
  have h1 := mul_nn ht (b := d + r) (by grind)
  rw [e, hN.scale, hunit]
  rcases absV_cases (evictedMass I K p * (d + r)) with h | h <;> grind
example : absV (mean tok half (fun b => if b then 1 else -3) -
    mean tok (keptDist tok (fun b => b = true) half) fun b => if b then 1 else -3) =
      evictedMass tok (fun b => b = true) half *
        (absV (0 - mean tok (keptDist tok (fun b => b = true) half) fun b => if b then 1 else -3) + 3) := by
  have h : sumIf (fun b => b = true) tok half = 1 / 2 := by simp [sumIf, tok, sumOver, half]; grind
  have ho : mean tok (keptDist tok (fun b => b = true) half) (fun b => if b then 1 else -3) = 1 := by
    have e : sumIf (fun b => b = true) [true, false] half = 1 / 2 := h
    simp [mean, keptDist, tok, sumOver, half, e]; grind
  have h1 := absV_cases ((0 : Rat) - 1)
  have h2 := absV_cases (-1 : Rat)
  refine eviction_error_eq_of_far (κ := Unit) (I := tok) (K := fun b => b = true) (p := half)
    (v := fun b _ => if b then 1 else -3) (N := fun x => absV (x ())) (c := fun _ => 0) (w := fun _ => -1) (r := 3)
    half_isDist (by rw [h]; grind) (isSeminorm_coordinate ()) (by grind) (by grind) (fun _ => ?_) fun i _ hi _ => ?_
  · simp only [ho]; grind
  · cases i
    · simp only [Bool.false_eq_true, if_false]; grind
    · simp at hi

end ProofKV
end

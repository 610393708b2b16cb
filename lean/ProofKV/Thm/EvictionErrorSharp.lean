module

public import ProofKV.Lemmas.Eviction

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
  have ht : 0 ≤ evictedMass I K p := sumIf_nn fun i hi _ => hp.nonneg i hi
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

end ProofKV
end

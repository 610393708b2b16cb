module

public import ProofKV.Lemmas.Evict

/-! With a stored norm of the dropped values the error is bounded again. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Sidecar bound**: when for every dropped token a bound `ν i` of its distance to a stored centre `m` is kept, replacing the dropped
values by the centre is off by at most the dropped mean of `ν`. -/
theorem eviction_sidecar_le {I : List ι} {K : ι → Prop} {p v ν : ι → α} {m : α}
    (hp : ∀ i ∈ I, 0 ≤ p i)
    (hν : ∀ i ∈ I, ¬ K i → absV (v i - m) ≤ ν i) :
    absV (mean I p v - mean I p fun i => if K i then v i else m) ≤ sumIf (fun i => ¬ K i) I fun i => p i * ν i := by
  rw [← mean_sub]
  refine Std.le_trans (absV_sumOver_le _ _) (sumOver_le fun i hi => ?_)
  rw [absV_mul]
  have e : absV (p i) = p i := by have := absV_cases (p i); have := hp i hi; grind
  rw [e]
  by_cases h : K i <;> simp only [h, if_true, if_false, not_true_eq_false, not_false_eq_true]
  · have : absV (v i - v i) = 0 := by have := absV_cases (v i - v i); grind
    rw [this]; grind
  · exact mul_le_left (hp i hi) (hν i hi h)

example : absV (mean [true, false] (fun _ => (1 / 2 : Rat)) (fun _ => 3) - mean [true, false] (fun _ => 1 / 2) fun b => if b = true then 3 else 2) ≤
    sumIf (fun b => ¬ b = true) [true, false] fun _ => 1 / 2 * 1 := by
  refine eviction_sidecar_le (K := fun b => b = true) (v := fun _ => (3 : Rat)) (ν := fun _ => 1) (fun _ _ => by grind) fun _ _ _ => absV_le.mpr (by grind)

end ProofKV
end

module

public import ProofKV.Lemmas.Eviction
import ProofKV.Lemmas.TV
import ProofKV.Lemmas.Witness

/-! Eviction moves the attention weights by exactly the evicted mass. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Total variation of eviction**: the distance between the exact weights and the kept weights, normalised again, is
the evicted mass. -/
theorem tv_kept_eq_evictedMass {I : List ι} {K : ι → Prop} {p : ι → α}
    (hp : IsDist I p)
    (hkept : 0 < sumIf K I p) :
    tv I p (keptDist I K p) = evictedMass I K p := by
  have h0 := one_pos (α := α)
  have h3 := kept_add_evicted (K := K) hp
  have ht : 0 ≤ evictedMass I K p := sumIf_nonneg fun i hi _ => hp.nonneg i hi
  have e : (sumOver I fun i => absV (p i - keptDist I K p i)) =
      sumIf K I (fun i => p i * ((1 - sumIf K I p) / sumIf K I p)) + evictedMass I K p := by
    unfold evictedMass sumIf
    rw [← sumOver_add]
    refine sumOver_congr fun i hi => ?_
    have hpi := hp.nonneg i hi
    by_cases h : K i <;> simp only [keptDist, h, if_true, if_false, not_true_eq_false, not_false_eq_true]
    · have h4 := mul_nn hpi (div_nn (a := 1 - sumIf K I p) (by grind) hkept)
      have h5 : p i - p i / sumIf K I p = - (p i * ((1 - sumIf K I p) / sumIf K I p)) := by grind
      rw [h5]
      change absV (-(p i * ((1 - sumIf K I p) / sumIf K I p))) = p i * ((1 - sumIf K I p) / sumIf K I p) + 0
      rcases absV_cases (-(p i * ((1 - sumIf K I p) / sumIf K I p))) with h | h <;> grind
    · rcases absV_cases (p i - 0) with h | h <;> grind
  unfold tv
  rw [e, sumIf_mul_right]
  grind

example : tv tok half (keptDist tok (fun b => b = true) half) = 1 / 2 := by
  have h : sumIf (fun b => b = true) tok half = 1 / 2 := by simp [sumIf, tok, sumOver, half]; grind
  have h' := kept_add_evicted (K := fun b => b = true) half_isDist
  rw [tv_kept_eq_evictedMass half_isDist (by grind)]
  grind

end ProofKV
end

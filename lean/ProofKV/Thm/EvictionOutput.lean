module

public import ProofKV.Lemmas.Evict

/-! The output error after eviction and renormalisation. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Eviction output bound**: after dropping tokens and renormalising, a coordinate of the output with values in `[lo, hi]` is off by at
most the discarded mass times `hi - lo`. -/
theorem eviction_output_le {I : List ι} {K : ι → Prop} {p v : ι → α} {lo hi : α}
    (hp : IsDist I p)
    (hkeep : 0 < sumIf K I p)
    (hv : ∀ i ∈ I, lo ≤ v i ∧ v i ≤ hi)
    (htv : tv I (keepOnly I K p) p = sumIf (fun i => ¬ K i) I p) :
    absV (mean I p v - mean I (keepOnly I K p) v) ≤ (sumIf (fun i => ¬ K i) I p) * (hi - lo) := by
  have e : ∀ i ∈ I, keepOnly I K p i = (if K i then p i else 0) / sumIf K I p := fun i _ => by
    unfold keepOnly
    by_cases h : K i <;> simp only [h, if_true, if_false]
    grind
  have ht : sumOver I (keepOnly I K p) = 1 := by
    rw [sumOver_congr e, sumOver_div]
    show sumIf K I p / sumIf K I p = 1
    grind
  have h1 := mean_diff_le_range (hp.total.trans ht.symm) hv
  have h2 := mean_diff_le_range (ht.trans hp.total.symm) hv
  rw [tv_comm] at h1
  rw [htv] at h1 h2
  exact absV_le.mpr (by grind)

end ProofKV
end

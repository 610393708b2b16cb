module

public import ProofKV.Lemmas.Evict

/-! The distance after eviction is the discarded mass. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Discarded mass**: dropping tokens and renormalising moves the attention weights by exactly the mass that was dropped, in total
variation. -/
theorem eviction_tv_eq {I : List ι} {K : ι → Prop} {p : ι → α}
    (hp : IsDist I p)
    (hkeep : 0 < sumIf K I p) :
    tv I (keepOnly I K p) p = sumIf (fun i => ¬ K i) I p := by
  have hle : sumIf K I p ≤ 1 := by
    rw [← hp.total]
    exact sumOver_le fun i hi => by have := hp.nonneg i hi; by_cases h : K i <;> simp only [h, if_true, if_false] <;> grind
  have hsplit := sumIf_add_not K I p
  have ht : sumOver I (keepOnly I K p) = 1 := by
    have e : ∀ i ∈ I, keepOnly I K p i = (if K i then p i else 0) / sumIf K I p := fun i _ => by
      unfold keepOnly
      by_cases h : K i <;> simp only [h, if_true, if_false]
      grind
    rw [sumOver_congr e, sumOver_div]
    show sumIf K I p / sumIf K I p = 1
    grind
  have hge : ∀ i ∈ I, K i → p i ≤ p i / sumIf K I p := fun i hi _ =>
    le_div hkeep (by have := mul_le_left (hp.nonneg i hi) hle; grind)
  rw [tv_comm, tv_eq_choice (hp.total.trans ht.symm)]
  unfold sumIf
  refine sumOver_congr fun i hi => ?_
  have h0 := hp.nonneg i hi
  by_cases h : K i
  · have h1 : ¬ p i / sumIf K I p < p i := by have := hge i hi h; grind
    simp only [keepOnly, h, h1, if_true, if_false, not_true_eq_false]
    grind
  · by_cases h2 : 0 < p i <;> simp only [keepOnly, h, h2, if_true, if_false, not_false_eq_true] <;> grind

example : tv [true, false] (keepOnly [true, false] (fun b => b = true) fun _ => (1 / 2 : Rat)) (fun _ => 1 / 2) =
    sumIf (fun b => ¬ b = true) [true, false] fun _ => 1 / 2 := by
  refine eviction_tv_eq ⟨fun _ _ => by grind, by simp only [sumOver]; grind⟩ ?_
  simp only [sumIf, sumOver, if_true, if_false, Bool.false_eq_true]
  grind

end ProofKV
end

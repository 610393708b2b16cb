module

public import ProofKV.Lemmas.Eviction
import ProofKV.Lemmas.Witness

/-! The evicted mass from the count of evicted tokens and a bound of their weights. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Evicted mass**: with `n` evicted tokens of weight at most `W` and kept total `Z`, the evicted mass is at most
`n W / (n W + Z)`, and it is equal when every evicted weight is `W`. -/
theorem evictedMass_le {I : List ι} {K : ι → Prop} {w : ι → α} {W : α}
    (hw : ∀ i ∈ I, 0 ≤ w i)
    (hW : ∀ i ∈ I, ¬ K i → w i ≤ W)
    (hkept : 0 < sumIf K I w) :
    evictedMass I K (nrm I w) ≤ evictedCount I K * W / (evictedCount I K * W + sumIf K I w) ∧
      ((∀ i ∈ I, ¬ K i → w i = W) →
        evictedMass I K (nrm I w) = evictedCount I K * W / (evictedCount I K * W + sumIf K I w)) := by
  have e1 : evictedMass I K (nrm I w) = sumIf (fun i => ¬ K i) I w / sumOver I w := by
    unfold evictedMass nrm
    rw [Field.div_eq_mul_inv, ← sumIf_mul_right]
    exact sumIf_congr fun i _ _ => Field.div_eq_mul_inv _ _
  have e2 := sumIf_add_not K I w
  have e3 : evictedCount I K * W = sumIf (fun i => ¬ K i) I fun _ => W := by
    unfold evictedCount
    rw [← sumIf_mul_right]
    exact sumIf_congr fun i _ _ => by grind
  have h1 : sumIf (fun i => ¬ K i) I w ≤ evictedCount I K * W := by rw [e3]; exact sumIf_mono hW
  have h2 : 0 ≤ sumIf (fun i => ¬ K i) I w := sumIf_nonneg fun i hi _ => hw i hi
  rw [e1, ← e2]
  refine ⟨?_, fun h => ?_⟩
  · generalize sumIf (fun i => ¬ K i) I w = E at *
    generalize sumIf K I w = Z at *
    refine div_le_div_cross (by grind) (by grind) ?_
    have := mul_le_right (Std.le_of_lt hkept) h1
    grind
  · have h3 : sumIf (fun i => ¬ K i) I w = evictedCount I K * W := by rw [e3]; exact sumIf_congr h
    rw [h3]
    congr 1
    grind

example : evictedMass tok (fun b => b = true) (nrm tok half) ≤
    evictedCount tok (fun b => b = true) * (1 / 2) / (evictedCount tok (fun b => b = true) * (1 / 2) +
      sumIf (fun b => b = true) tok half) :=
  (evictedMass_le half_isDist.nonneg (fun i _ _ => by simp only [half]; grind)
    (by simp [sumIf, tok, sumOver, half]; grind)).1

end ProofKV
end

module

public import ProofKV.Lemmas.Probability
import ProofKV.Lemmas.Witness

/-! Markov's inequality. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Markov**: a non-negative quantity is at least `t > 0` with probability at most its mean divided by `t`. -/
theorem prob_ge_le_mean_div {O : List ι} {P f : ι → α} {t : α}
    (hP : ∀ o ∈ O, 0 ≤ P o)
    (hf : ∀ o ∈ O, 0 ≤ f o)
    (ht : 0 < t) :
    prob O P (fun o => t ≤ f o) ≤ mean O P f / t := by
  refine le_div ht ?_
  unfold prob sumIf mean
  rw [← sumOver_mul_right]
  refine sumOver_le fun o ho => ?_
  have h1 := hP o ho
  by_cases h : t ≤ f o <;> simp only [h, if_true, if_false]
  · exact mul_le_left h1 h
  · have := mul_nn h1 (hf o ho); grind

example : prob tok half (fun o => (2 : Rat) ≤ if o then 2 else 0) ≤ mean tok half (fun o => if o then 2 else 0) / 2 :=
  prob_ge_le_mean_div half_isDist.nonneg (fun o _ => by cases o <;> simp <;> grind) (by grind)

end ProofKV
end

module

public import ProofKV.Lemmas.TVBounds
public import ProofKV.Lemmas.Witness

/-! Total variation distance is the largest gain of mass of a set of tokens. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Total variation is a maximum over sets**: for two weightings with the same total, the total variation distance is
at least every difference of masses of a set, and the set where the first weighting is larger attains it. -/
theorem tv_eq_max_subset {I : List ι} {p q : ι → α}
    (htotal : sumOver I p = sumOver I q) :
    (∀ A : ι → Prop, sumIf A I p - sumIf A I q ≤ tv I p q) ∧
      ∃ A : ι → Prop, sumIf A I p - sumIf A I q = tv I p q := by
  have e : ∀ A : ι → Prop, sumIf A I p - sumIf A I q = sumOver I fun i => (if A i then 1 else 0) * (p i - q i) := by
    intro A
    unfold sumIf
    rw [← sumOver_sub]
    exact sumOver_congr fun i _ => by by_cases h : A i <;> simp only [h, if_true, if_false] <;> grind
  refine ⟨fun A => ?_, fun i => q i < p i, ?_⟩
  · rw [e]
    exact choice_le_tv htotal (isShare_choice I A)
  · rw [e, tv_eq_choice htotal]

example : ∃ A : Bool → Prop, sumIf A tok half - sumIf A tok half = tv tok half half := (tv_eq_max_subset rfl).2

end ProofKV
end

module

public import ProofKV.Lemmas.Check

/-! The checker of an argmax margin is sound. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Margin checker**: when it accepts, the winner's logit is above every other logit, whatever values the intervals hold. -/
theorem checkMargin_sound {winner : Rat × Rat} {others : List (Rat × Rat)} {x y : Rat} {a : Rat × Rat}
    (haccept : checkMargin winner others = true)
    (hwinner : winner.1 ≤ x)
    (hmem : a ∈ others)
    (hother : y ≤ a.2) :
    y < x := by
  simp only [checkMargin, List.all_eq_true, decide_eq_true_eq] at haccept
  have := haccept a hmem
  grind

example : checkMargin (1, 2) [(0, 1 / 2), (-1, 3 / 4)] = true := by decide +kernel

end ProofKV
end

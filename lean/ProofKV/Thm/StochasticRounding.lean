module

public import ProofKV.Lemmas.Quant

/-! Stochastic rounding is unbiased. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Stochastic rounding**: rounding up with probability equal to the fractional part has mean `x`. -/
theorem stochastic_mean_eq (x : Rat) :
    stochasticMean x = x := by
  unfold stochasticMean
  grind

example : stochasticMean (7 / 3) = 7 / 3 := stochastic_mean_eq _

end ProofKV
end

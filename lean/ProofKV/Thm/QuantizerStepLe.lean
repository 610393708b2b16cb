module

public import ProofKV.Lemmas.Quant

/-! The half-step bound. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Half step**: uniform quantization with step `s` is within `s / 2`. -/
theorem quantizer_step_le {s : Rat} (x : Rat)
    (hs : 0 < s) :
    absV (x - quant s x) ≤ s / 2 :=
  step_err hs (rnd_le _) (Std.le_of_lt (lt_rnd _))

example : absV ((7 / 3 : Rat) - quant (1 / 2) (7 / 3)) ≤ 1 / 2 / 2 := quantizer_step_le _ (by grind)

end ProofKV
end

module

public import ProofKV.Lemmas.Quant

/-! The bound when the scale is rounded before it is stored. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Stored scale**: codes made with the scale `s` and read with the stored scale `s'` are within `s / 2` plus the scale error times the
code. -/
theorem quantizer_stored_scale_le {s s' : Rat} (x : Rat)
    (hs : 0 < s) :
    absV (x - s' * (rnd (x / s) : Rat)) ≤ s / 2 + absV (s - s') * absV (rnd (x / s) : Rat) := by
  have h1 := step_err hs (rnd_le (x / s)) (Std.le_of_lt (lt_rnd (x / s)))
  have h2 := absV_add_le (x - s * (rnd (x / s) : Rat)) ((s - s') * (rnd (x / s) : Rat))
  rw [absV_mul] at h2
  have e : x - s * (rnd (x / s) : Rat) + (s - s') * (rnd (x / s) : Rat) = x - s' * (rnd (x / s) : Rat) := by grind
  rw [e] at h2
  grind

example : absV ((7 / 3 : Rat) - 1 / 2 * (rnd (7 / 3 / (1 / 3)) : Rat)) ≤
    1 / 3 / 2 + absV (1 / 3 - 1 / 2) * absV (rnd (7 / 3 / (1 / 3)) : Rat) :=
  quantizer_stored_scale_le _ (by grind)

end ProofKV
end

module

public import ProofKV.Lemmas.Quant

/-! The residue of subtractive dither. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Dither range**: subtractive dither with any offset `u` keeps the error within half a step. -/
theorem dither_error_le {s u : Rat} (x : Rat)
    (hs : 0 < s) :
    absV (x - quantDither s u x) ≤ s / 2 := by
  have h1 := rnd_le (x / s + u)
  have h2 := lt_rnd (x / s + u)
  exact step_err hs (by grind) (by grind)

example : absV ((7 / 3 : Rat) - quantDither (1 / 2) (1 / 3) (7 / 3)) ≤ 1 / 2 / 2 := dither_error_le _ (by grind)

end ProofKV
end

module

public import ProofKV.Lemmas.Quant

/-! Asymmetric codes with a zero point. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Zero point**: with codes in `[lo, hi]` and zero point `z`, inputs in `[s (lo - z), s (hi - z)]` come back within half a step, if the
reader subtracts the zero point that the writer added. -/
theorem quantizer_zero_point_le {lo hi z : Int} {s x : Rat}
    (hs : 0 < s)
    (hlo : s * ((lo - z : Int) : Rat) ≤ x)
    (hhi : x ≤ s * ((hi - z : Int) : Rat)) :
    absV (x - quantZero lo hi z s x) ≤ s / 2 := by
  have h1 : ((lo - z : Int) : Rat) ≤ x / s := le_div hs (by grind)
  have h2 : x / s ≤ ((hi - z : Int) : Rat) := div_le hs (by grind)
  have h3 := le_rnd h1
  have h4 := rnd_le_int h2
  unfold quantZero
  rw [clipInt_eq (by omega) (by omega), show rnd (x / s) + z - z = rnd (x / s) by omega]
  exact step_err hs (rnd_le _) (Std.le_of_lt (lt_rnd _))

example : absV ((7 / 3 : Rat) - quantZero 0 255 3 (1 / 2) (7 / 3)) ≤ 1 / 2 / 2 :=
  quantizer_zero_point_le (by grind) (by have : ((0 - 3 : Int) : Rat) = -3 := rfl; grind)
    (by have : ((255 - 3 : Int) : Rat) = 252 := rfl; grind)

end ProofKV
end

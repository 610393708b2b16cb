module

public import ProofKV.Lemmas.Quant

/-! The half-step bound inside the clipping range. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Clipping range**: for inputs inside the range of the codes, clipping changes nothing and the error is within half a step. Outside it
no such bound holds. -/
theorem quantizer_clip_le {lo hi : Int} {s x : Rat}
    (hs : 0 < s)
    (hlo : s * (lo : Rat) ≤ x)
    (hhi : x ≤ s * (hi : Rat)) :
    absV (x - quantClip lo hi s x) ≤ s / 2 := by
  have h1 : (lo : Rat) ≤ x / s := le_div hs (by grind)
  have h2 : x / s ≤ (hi : Rat) := div_le hs (by grind)
  unfold quantClip
  rw [clipInt_eq (le_rnd h1) (rnd_le_int h2)]
  exact step_err hs (rnd_le _) (Std.le_of_lt (lt_rnd _))

example : absV ((7 / 3 : Rat) - quantClip (-127) 127 (1 / 2) (7 / 3)) ≤ 1 / 2 / 2 :=
  quantizer_clip_le (by grind) (by have : ((-127 : Int) : Rat) = -127 := rfl; grind) (by have : ((127 : Int) : Rat) = 127 := rfl; grind)

end ProofKV
end

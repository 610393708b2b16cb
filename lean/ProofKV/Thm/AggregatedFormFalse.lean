module

public import ProofKV.Lemmas.Output
public import ProofKV.Lemmas.Witness

/-! A retracted bound, refuted: averaging squared radii before the exponential. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The weights of the refutation: a token of mass one in ten thousand and the rest. -/
@[expose] def rare : Bool → Rat := fun b => if b then 1 / 10000 else 9999 / 10000

/-- **The aggregated form is false**: with radii `c`, taking `U` with `U² = mean c²` and the bound `(G - 1) / 2`, `G` the
exponential of `2 U`, fails. Here `c = (10, 0)`, so `U = 1/10`; the claim fails for every `R ≥ (5/2)^10` (the exponential of
the radius) and every `G ≤ 5/4` (the exponential of `2 U`). -/
theorem aggregated_form_false {R G : Rat}
    (hR : 9536 ≤ R)
    (hG : G ≤ 5 / 4) :
    (1 / 10 * (1 / 10) = mean tok rare fun b => if b then (10 : Rat) * 10 else 0) ∧
      (G - 1) / 2 < tv tok (tilt tok rare fun b => if b then R else 1) rare := by
  have hd : IsDist tok rare := ⟨fun i _ => by cases i <;> simp [rare] <;> grind, by simp [tok, rare, sumOver]; grind⟩
  have hpos := tilt_total_pos hd (w := fun b => if b then R else 1) fun i _ => by cases i <;> simp <;> grind
  have hsub := choice_le_tv ((tilt_total hpos).trans hd.total.symm) (isShare_choice tok fun b => b = true)
  rw [choice_tilt] at hsub
  refine ⟨by simp only [mean, tok, rare, sumOver, if_true, if_false, Bool.false_eq_true]; grind, Std.lt_of_lt_of_le ?_ hsub⟩
  simp only [tok, rare, sumOver, if_true, if_false, Bool.false_eq_true]
  have h1 : (1 : Rat) * (1 / 10000 * R) + (0 * (9999 / 10000 * 1) + 0) = R / 10000 := by grind
  have h2 : (1 : Rat) / 10000 * R + (9999 / 10000 * 1 + 0) = (R + 9999) / 10000 := by grind
  rw [h1, h2]
  have h3 : (48 : Rat) / 100 ≤ R / 10000 / ((R + 9999) / 10000) := le_div (by grind) (by grind)
  grind

example : True := by
  have := aggregated_form_false (R := 10000) (G := 1) (by grind) (by grind)
  trivial

end ProofKV
end

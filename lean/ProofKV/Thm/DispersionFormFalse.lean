module

public import ProofKV.Lemmas.Output
public import ProofKV.Lemmas.Witness

/-! A retracted bound, refuted: the dispersion form. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **The dispersion form is false**: `TV ≤ r² (mean |c - c̄| + c̄ (r - 1)) / 2` with `r` the exponential of the largest radius fails
on two equal tokens with radius `c = 1/10`, for every value of `r` that an exponential can have there
(`1 + c ≤ r ≤ 1 / (1 - c)`): the spread of equal radii is zero, the distance is not. -/
theorem dispersion_form_false {r : Rat}
    (hlow : 1 + 1 / 10 ≤ r)
    (hup : r * (1 - 1 / 10) ≤ 1) :
    r * r / 2 * ((mean tok half fun _ => absV (1 / 10 - 1 / 10)) + 1 / 10 * (r - 1)) <
      tv tok (tilt tok half fun b => if b then r else r⁻¹) half := by
  have hr0 : 0 < r := by grind
  have hw : InRatio tok (fun _ => r) fun b : Bool => if b then r else r⁻¹ := by
    refine ⟨fun _ _ => by grind, fun i _ => ?_, fun i _ => ?_⟩ <;> cases i <;> simp
    · rw [Rat.mul_inv_cancel _ (by grind)]; grind
    · have := mul_le_both (a := 1) (b := r) (c := 1) (d := r) (by grind) (by grind) (by grind) (by grind); grind
    · have := mul_le_both (a := 1) (b := r) (c := 1) (d := r) (by grind) (by grind) (by grind) (by grind)
      exact le_of_mul hr0 (by rw [Rat.mul_inv_cancel _ (by grind)]; grind)
    · grind
  have hpos := tilt_total_pos half_isDist hw.pos
  have hsub := choice_le_tv ((tilt_total hpos).trans half_isDist.total.symm) (isShare_choice tok fun b => b = true)
  rw [choice_tilt] at hsub
  have hz : absV ((1 : Rat) / 10 - 1 / 10) = 0 := by have := absV_cases ((1 : Rat) / 10 - 1 / 10); grind
  rw [hz]
  refine Std.lt_of_lt_of_le ?_ hsub
  simp only [mean, tok, half, sumOver, if_true, if_false, Bool.false_eq_true]
  have h1 : r ≤ 10 / 9 := by grind
  have h2 : (1 : Rat) * (1 / 2 * r) + (0 * (1 / 2 * r⁻¹) + 0) = r / 2 := by grind
  have h3 : (1 : Rat) / 2 * r + (1 / 2 * r⁻¹ + 0) = (r + r⁻¹) / 2 := by grind
  rw [h2, h3]
  have h4 : r⁻¹ ≤ 10 / 11 := le_of_mul hr0 (by rw [Rat.mul_inv_cancel _ (by grind)]; grind)
  have hi := inv_ps hr0
  have h5 : (547 : Rat) / 1000 ≤ r / 2 / ((r + r⁻¹) / 2) := le_div (by grind) (by grind)
  have h6 := mul_le_both (a := r) (b := 10 / 9) (c := r) (d := 10 / 9) (by grind) (by grind) h1 h1
  have h7 := mul_le_both (a := r * r / 2) (b := 100 / 162) (c := 1 / 10 * (r - 1)) (d := 1 / 90) (by have := sq_nn r; grind) (by grind)
    (by grind) (by grind)
  grind

example : True := by
  have := dispersion_form_false (r := 11 / 10) (by grind) (by grind)
  trivial

end ProofKV
end

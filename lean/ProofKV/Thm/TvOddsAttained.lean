module

public import ProofKV.Lemmas.TVBounds
public import ProofKV.Lemmas.Witness

/-! The odds bound is attained. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **The odds bound is sharp**: for every `κ ≥ 1` two tokens with masses `1 / (κ + 1)` and `κ / (κ + 1)` and ratios `κ`
and `1 / κ` attain `(κ - 1) / (κ + 1)` exactly. -/
theorem tv_odds_attained {κ : α}
    (hκ : 1 ≤ κ) :
    ∃ p w r : Bool → α, IsDist [true, false] p ∧ InRatio [true, false] r w ∧
      (∀ i ∈ [true, false], ∀ j ∈ [true, false], i ≠ j → r i * r j ≤ κ * κ) ∧
      tv [true, false] (tilt [true, false] p w) p = (κ - 1) / (κ + 1) := by
  have h0 := one_pos (α := α)
  have hκ0 : 0 < κ := by grind
  have hs : 0 < κ + 1 := by grind
  have hi := inv_ps hκ0
  have hq : κ * κ⁻¹ = 1 := Field.mul_inv_cancel (by grind)
  have hq1 : κ⁻¹ ≤ κ := by
    have := mul_le_both (a := 1) (b := κ) (c := 1) (d := κ) (by grind) (by grind) hκ hκ
    exact le_of_mul hκ0 (by grind)
  refine ⟨fun b => if b then 1 / (κ + 1) else κ / (κ + 1), fun b => if b then κ else κ⁻¹, fun _ => κ, ?_, ?_, ?_, ?_⟩
  · refine ⟨fun i _ => ?_, ?_⟩
    · cases i <;> simp
      · exact div_nn (by grind) hs
      · exact div_nn (by grind) hs
    · simp [sumOver]; grind
  · refine ⟨fun i _ => hκ, fun i _ => ?_, fun i _ => ?_⟩ <;> cases i <;> simp <;> try grind
    have := mul_le_both (a := 1) (b := κ) (c := 1) (d := κ) (by grind) (by grind) hκ hκ
    grind
  · intro i _ j _ _
    exact Std.le_refl _
  · have hz : (sumOver [true, false] fun i => (fun b : Bool => if b then 1 / (κ + 1) else κ / (κ + 1)) i *
        (fun b : Bool => if b then κ else κ⁻¹) i) = 1 := by simp [sumOver]; grind
    have e1 : tilt [true, false] (fun b : Bool => if b then 1 / (κ + 1) else κ / (κ + 1)) (fun b => if b then κ else κ⁻¹) true =
        κ / (κ + 1) := by unfold tilt; rw [hz]; simp; grind
    have e2 : tilt [true, false] (fun b : Bool => if b then 1 / (κ + 1) else κ / (κ + 1)) (fun b => if b then κ else κ⁻¹) false =
        1 / (κ + 1) := by unfold tilt; rw [hz]; simp; grind
    have hd := div_nn (a := κ - 1) (b := κ + 1) (by grind) hs
    unfold tv
    simp only [sumOver, e1, e2, if_true, if_false, Bool.false_eq_true]
    rcases absV_cases (κ / (κ + 1) - 1 / (κ + 1)) with h | h <;>
      rcases absV_cases (1 / (κ + 1) - κ / (κ + 1)) with h' | h' <;> grind

example : ∃ p w r : Bool → Rat, IsDist tok p ∧ InRatio tok r w ∧
    (∀ i ∈ tok, ∀ j ∈ tok, i ≠ j → r i * r j ≤ 3 * 3) ∧ tv tok (tilt tok p w) p = (3 - 1) / (3 + 1) :=
  tv_odds_attained (by grind)

end ProofKV
end

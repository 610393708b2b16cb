module

public import ProofKV.Lemmas.TVBounds
public import ProofKV.Lemmas.Witness

/-! The odds bound from the product of the two largest ratio bounds. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Odds bound**: if `κ²` is at least the product of the two largest ratio bounds, the total variation distance is at
most `(κ - 1) / (κ + 1)`. -/
theorem tv_le_odds {I : List ι} {p r w : ι → α} {κ : α}
    (hp : IsDist I p)
    (hw : InRatio I r w)
    (hκ : 1 ≤ κ)
    (hpair : ∀ i ∈ I, ∀ j ∈ I, i ≠ j → r i * r j ≤ κ * κ) :
    tv I (tilt I p w) p ≤ (κ - 1) / (κ + 1) := by
  have h0 := one_pos (α := α)
  refine tv_le_of_osc hp hκ hw.pos fun i hi j hj => ?_
  have hj0 := hw.pos j hj
  by_cases e : i = j
  · subst e
    have h1 : 1 ≤ κ * κ := by have := mul_le_both (a := 1) (b := κ) (c := 1) (d := κ) (by grind) (by grind) hκ hκ; grind
    have := mul_le_right (Std.le_of_lt hj0) h1
    grind
  · have h1 := mul_le_right (Std.le_of_lt hj0) (hpair i hi j hj e)
    have h2 := mul_le_left (c := r i) (by have := hw.one_le i hi; grind) (hw.lower j hj)
    have h3 := hw.upper i hi
    grind

example : tv tok (tilt tok half ext) half ≤ (5 / 2 - 1) / (5 / 2 + 1) :=
  tv_le_odds half_isDist ext_inRatio (by grind) fun i _ j _ h => by cases i <;> cases j <;> simp [rad] at h ⊢ <;> grind

end ProofKV
end

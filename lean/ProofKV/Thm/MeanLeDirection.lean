module

public import ProofKV.Lemmas.TVBounds
public import ProofKV.Lemmas.Witness

/-! A one-direction output certificate. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **One-direction certificate**: let `t i` be the value of token `i` in a direction. If
`sum p (u (t - M)₊ - l (M - t)₊) ≤ 0`, then in that direction no output in the box of ratios exceeds `M`. -/
theorem mean_tilt_le_direction {I : List ι} {p l u w t : ι → α} {M : α}
    (hp : IsDist I p)
    (hw : InBox I l u w)
    (hM : (sumOver I fun i => p i * (u i * posPart (t i - M) - l i * posPart (M - t i))) ≤ 0) :
    mean I (tilt I p w) t ≤ M := by
  have hwp : ∀ i ∈ I, 0 < w i := fun i hi => by have := hw.pos i hi; have := hw.lower i hi; grind
  have hZ := tilt_total_pos hp hwp
  have h1 : (sumOver I fun i => p i * w i * (t i - M)) ≤ 0 := by
    refine Std.le_trans (sumOver_le fun i hi => ?_) hM
    have a1 := posPart_cases (t i - M)
    have a2 := posPart_cases (M - t i)
    have a3 := mul_le_right a1.1 (hw.upper i hi)
    have a4 := mul_le_right a2.1 (hw.lower i hi)
    have a5 : w i * (t i - M) = w i * posPart (t i - M) - w i * posPart (M - t i) := by
      have : t i - M = posPart (t i - M) - posPart (M - t i) := by grind
      grind
    have a6 := mul_le_left (hp.nonneg i hi) (a := w i * (t i - M))
      (b := u i * posPart (t i - M) - l i * posPart (M - t i)) (by grind)
    grind
  have h2 : (sumOver I fun i => p i * w i * (t i - M)) =
      (sumOver I fun i => p i * w i * t i) - M * sumOver I fun i => p i * w i := by
    rw [← sumOver_mul, ← sumOver_sub]
    exact sumOver_congr fun i _ => by grind
  have h3 : mean I (tilt I p w) t = (sumOver I fun i => p i * w i * t i) / sumOver I fun i => p i * w i := by
    rw [← sumOver_div]
    exact sumOver_congr fun i _ => by unfold tilt; grind
  rw [h3]
  exact div_le hZ (by grind)

example : mean tok (tilt tok half ext) (fun b => if b then 1 else 0) ≤ 1 := by
  refine mean_tilt_le_direction half_isDist ext_inRatio.inBox ?_
  have h1 := posPart_cases ((1 : Rat) - 1)
  have h2 := posPart_cases ((0 : Rat) - 1)
  have h3 := posPart_cases ((1 : Rat) - 0)
  simp only [tok, half, rad, sumOver, if_true, if_false, Bool.false_eq_true]
  grind

end ProofKV
end

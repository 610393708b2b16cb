module

public import ProofKV.Lemmas.Output
public import ProofKV.Lemmas.Witness

/-! The vertex rule: the extreme output is attained by a threshold set. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The extreme tilt of a threshold set: the upper ratio above the threshold, the lower one below it. -/
theorem mean_tilt_eq {I : List ι} (p w t : ι → α) :
    mean I (tilt I p w) t = (sumOver I fun i => p i * w i * t i) / sumOver I fun i => p i * w i := by
  rw [← sumOver_div]
  exact sumOver_congr fun i _ => by unfold tilt; grind

/-- **Vertex rule**: over a box of ratios, if the tilt that is extreme for the threshold `M` has output `M` or less, then no tilt
in the box exceeds `M`; so the largest output in a direction is attained by a threshold set of the values. -/
theorem linf_output_le_prefix {I : List ι} {p l u w t : ι → α} {M : α}
    (hp : IsDist I p)
    (hw : InBox I l u w)
    (hvertex : mean I (tilt I p fun i => if M < t i then u i else l i) t ≤ M) :
    mean I (tilt I p w) t ≤ M := by
  have hwp : ∀ i ∈ I, 0 < w i := fun i hi => by have := hw.pos i hi; have := hw.lower i hi; grind
  have hvp : ∀ i ∈ I, 0 < if M < t i then u i else l i := fun i hi => by
    have := hw.pos i hi; have := hw.lower i hi; have := hw.upper i hi
    by_cases h : M < t i <;> simp only [h, if_true, if_false] <;> grind
  have hZ := tilt_total_pos hp hwp
  have hV := tilt_total_pos hp hvp
  rw [mean_tilt_eq] at hvertex ⊢
  have h0 : (sumOver I fun i => p i * (if M < t i then u i else l i) * t i) ≤
      M * sumOver I fun i => p i * if M < t i then u i else l i := by
    have := mul_le_left (Std.le_of_lt hV) hvertex
    rw [mul_div_self hV] at this
    grind
  have e : ∀ z : ι → α, (sumOver I fun i => p i * z i * t i) - M * (sumOver I fun i => p i * z i) =
      sumOver I fun i => p i * z i * (t i - M) := by
    intro z
    rw [← sumOver_mul, ← sumOver_sub]
    exact sumOver_congr fun i _ => by grind
  have h1 : (sumOver I fun i => p i * w i * (t i - M)) ≤
      sumOver I fun i => p i * (if M < t i then u i else l i) * (t i - M) := by
    refine sumOver_le fun i hi => ?_
    by_cases h : M < t i <;> simp only [h, if_true, if_false]
    · have := mul_le_right (c := t i - M) (by grind) (mul_le_left (hp.nonneg i hi) (hw.upper i hi)); grind
    · have := mul_le_right (c := M - t i) (by grind) (mul_le_left (hp.nonneg i hi) (hw.lower i hi)); grind
  rw [← e, ← e] at h1
  exact div_le hZ (by grind)

example : mean tok (tilt tok half ext) (fun b => if b then 1 else 0) ≤ 1 := by
  refine linf_output_le_prefix half_isDist ext_inRatio.inBox ?_
  rw [mean_tilt_eq]
  have h1 : ¬ (1 : Rat) < 1 := by grind
  have h2 : ¬ (1 : Rat) < 0 := by grind
  simp only [tok, half, rad, sumOver, if_true, if_false, Bool.false_eq_true, h1, h2]
  grind

end ProofKV
end

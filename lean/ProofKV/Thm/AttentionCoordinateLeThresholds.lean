module

public import ProofKV.Thm.VertexRule
import ProofKV.Lemmas.Witness

/-! The error of an output coordinate from its threshold sets, keys and values jointly. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- What bounds the outputs of all sets of tokens whose score is at least that of a token bounds every output in the box. -/
theorem mean_tilt_le_of_thresholds {I : List ι} {p l u w t : ι → α} {M : α}
    (hp : IsDist I p)
    (hw : InBox I l u w)
    (hM : ∀ c ∈ I, mean I (tilt I p fun i => if t c ≤ t i then u i else l i) t ≤ M) :
    mean I (tilt I p w) t ≤ M := by
  refine linf_output_le_prefix hp hw ?_
  by_cases hne : (I.filter fun i => decide (M < t i)) = []
  · have hall : ∀ i ∈ I, t i ≤ M := fun i hi => by
      have h1 := List.filter_eq_nil_iff.mp hne i hi
      simp only [decide_eq_true_eq] at h1
      grind
    have hpos : ∀ i ∈ I, 0 < (if M < t i then u i else l i) := fun i hi => by
      have := hw.pos i hi; have := hw.lower i hi; have := hw.upper i hi
      by_cases h : M < t i <;> simp only [h, if_true, if_false] <;> grind
    have hq := tilt_isDist_of_pos hp hpos
    have h2 : (sumOver I fun i => tilt I p (fun i => if M < t i then u i else l i) i * t i) ≤
        sumOver I fun i => tilt I p (fun i => if M < t i then u i else l i) i * M :=
      sumOver_le fun i hi => mul_le_left (hq.nonneg i hi) (hall i hi)
    rw [sumOver_mul_right, hq.total] at h2
    unfold mean
    grind
  · obtain ⟨d, hd, hmin⟩ := exists_max (fun i => -t i) hne
    simp only [List.mem_filter, decide_eq_true_eq] at hd hmin
    have e : mean I (tilt I p fun i => if M < t i then u i else l i) t =
        mean I (tilt I p fun i => if t d ≤ t i then u i else l i) t := mean_tilt_congr fun i hi => by
      by_cases h : t d ≤ t i
      · have h' : M < t i := by have := hd.2; grind
        simp only [h, h', if_true]
      · have h' : ¬ M < t i := fun h' => h (by have := hmin i ⟨hi, h'⟩; grind)
        simp only [h, h', if_false]
    rw [e]
    exact hM d hd.1

/-- **Output coordinate**: let the ratios lie in their box and let every value be off by at most `h i`. If for both signs `M` bounds, over
the sets of tokens whose score `± v + h` is at least that of a token, the mean score under the extreme tilt less the signed output, the
coordinate of the output is off by at most `M`. -/
theorem attention_coordinate_le_thresholds {I : List ι} {p l u w v e h : ι → α} {M : α}
    (hp : IsDist I p)
    (lower_positive : ∀ i ∈ I, 0 < l i)
    (tilts_within_bounds : ∀ i ∈ I, l i ≤ w i ∧ w i ≤ u i)
    (value_errors_within_box : ∀ i ∈ I, absV (e i) ≤ h i)
    (hup : ∀ c ∈ I, mean I (tilt I p fun i => if v c + h c ≤ v i + h i then u i else l i) (fun i => v i + h i) -
      mean I p v ≤ M)
    (hdown : ∀ c ∈ I, mean I (tilt I p fun i => if -v c + h c ≤ -v i + h i then u i else l i) (fun i => -v i + h i) +
      mean I p v ≤ M) :
    absV (mean I (tilt I p w) (fun i => v i + e i) - mean I p v) ≤ M := by
  have hw : InBox I l u w := ⟨lower_positive, fun i hi => (tilts_within_bounds i hi).1, fun i hi => (tilts_within_bounds i hi).2⟩
  have hq := tilt_isDist_of_pos hp (w := w) fun i hi => by
    have := lower_positive i hi; have := hw.lower i hi; grind
  have h1 := mean_tilt_le_of_thresholds (t := fun i => v i + h i) (M := M + mean I p v) hp hw fun c hc => by
    have := hup c hc; grind
  have h2 := mean_tilt_le_of_thresholds (t := fun i => -v i + h i) (M := M - mean I p v) hp hw fun c hc => by
    have := hdown c hc; grind
  have h3 : mean I (tilt I p w) (fun i => v i + e i) ≤ mean I (tilt I p w) fun i => v i + h i :=
    sumOver_le fun i hi => mul_le_left (hq.nonneg i hi) (by
      have := absV_le.mp (value_errors_within_box i hi); grind)
  have h4 : 0 ≤ mean I (tilt I p w) (fun i => v i + e i) + mean I (tilt I p w) fun i => -v i + h i := by
    unfold mean
    rw [← sumOver_add]
    refine sumOver_nn fun i hi => ?_
    have h5 := absV_le.mp (value_errors_within_box i hi)
    have h6 := mul_nn (hq.nonneg i hi) (b := e i + h i) (by grind)
    grind
  exact absV_le.mpr (by grind)

example : absV (mean tok (tilt tok half ext) (fun _ => (0 : Rat) + 1) - mean tok half fun _ => 0) ≤ 1 := by
  refine attention_coordinate_le_thresholds (l := fun i => (rad i)⁻¹) (u := rad) (h := fun _ => 1) half_isDist
    ext_inRatio.inBox.pos (fun i hi => ⟨ext_inRatio.inBox.lower i hi, ext_inRatio.inBox.upper i hi⟩)
    (fun _ _ => absV_le.mpr (by grind)) (fun c _ => ?_) fun c _ => ?_ <;>
    simp only [mean_tilt_eq, Std.le_refl, if_true] <;>
    simp only [mean, tok, half, rad, sumOver, if_true, if_false, Bool.false_eq_true] <;> grind

end ProofKV
end

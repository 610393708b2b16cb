module

public import ProofKV.Spec.Seminorm
public import ProofKV.Thm.AttentionCoordinateLeThresholds
public import ProofKV.Thm.AttentionNormSplitBox
public import ProofKV.Thm.AttentionNormSplitTrue
public import ProofKV.Thm.TvBoxEqGain
import ProofKV.Lemmas.Witness

/-! Both splits of the output error, from ratios and value radii alone. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

variable {κ : Type w} {B : (κ → α) → α → Prop}

/-- **Output error from ratios and radii, in any norm**: let `T` bound the gain of every set of tokens, `D` the distance of two
compressed values plus their radii, `D'` the distance of two compressed values, and `M` the mean radius under the extreme tilt of the
sets of tokens whose radius is at least that of a token. Then both `mean of ν + T D` and `M + T D'` bound the output error. -/
theorem attention_norm_le {I : List ι} {p r w ν : ι → α} {v e : ι → κ → α} {T D D' M : α}
    (hB : IsNormBound B)
    (hp : IsDist I p)
    (ratios_at_least_one : ∀ i ∈ I, 1 ≤ r i)
    (tilts_within_ratios : ∀ i ∈ I, 1 ≤ r i * w i ∧ w i ≤ r i)
    (value_errors_within_radii : ∀ i ∈ I, B (e i) (ν i))
    (hT : ∀ A : ι → Prop, gain I p (fun i => (r i)⁻¹) r (fun i => if A i then 1 else 0) ≤ T)
    (hD0 : 0 ≤ D)
    (hD : ∀ i ∈ I, ∀ j ∈ I, i ≠ j → B (fun k => v i k - v j k) (D - ν i - ν j))
    (hD0' : 0 ≤ D')
    (hD' : ∀ i ∈ I, ∀ j ∈ I, i ≠ j → B (fun k => v i k - v j k) D')
    (hM : ∀ c ∈ I, mean I (tilt I p fun i => if ν c ≤ ν i then r i else (r i)⁻¹) ν ≤ M) :
    B (fun k => mean I (tilt I p w) (fun i => v i k + e i k) - mean I p fun i => v i k) (mean I p ν + T * D) ∧
      B (fun k => mean I (tilt I p w) (fun i => v i k + e i k) - mean I p fun i => v i k) (M + T * D') := by
  have hw : InRatio I r w := ⟨ratios_at_least_one, fun i hi => (tilts_within_ratios i hi).1,
    fun i hi => (tilts_within_ratios i hi).2⟩
  have hq := tilt_isDist_of_pos hp hw.pos
  have htv : tv I (tilt I p w) p ≤ T := (tv_box_le_iff_gain_le hp hw.inBox.pos fun i hi =>
    Std.le_trans (hw.inBox.lower i hi) (hw.inBox.upper i hi)).mpr hT w hw.inBox
  have hν : ∀ i ∈ I, B (fun k => (v i k + e i k) - v i k) (ν i) := fun i hi => by
    have e1 : (fun k => (v i k + e i k) - v i k) = e i := by funext k; grind
    rw [e1]
    exact value_errors_within_radii i hi
  refine ⟨hB.mono (attention_norm_le_split_true (v := fun i k => v i k + e i k) hB hq hp hν hD0 hD) ?_,
    hB.mono (attention_norm_le_split_box (v := fun i k => v i k + e i k) (M := M) hB hq hp hν
      (mean_tilt_le_of_thresholds hp hw.inBox hM) hD0' hD') ?_⟩
  · have := mul_le_right hD0 htv
    grind
  · have := mul_le_right hD0' htv
    grind

example {T : Rat} (hT : ∀ A : Bool → Prop, gain tok half (fun i => (rad i)⁻¹) rad (fun i => if A i then 1 else 0) ≤ T) :
    EuclidLe [()] (fun _ => mean tok (tilt tok half ext) (fun _ => (0 : Rat) + 0) - mean tok half fun _ => 0)
      (mean tok half (fun _ => 0) + T * 0) := by
  refine (attention_norm_le (κ := Unit) (B := EuclidLe [()]) (w := ext) (v := fun _ _ => 0) (e := fun _ _ => 0) (D' := 0) (M := 0)
    (isNormBound_euclid _) half_isDist ext_inRatio.one_le (fun i hi => ⟨ext_inRatio.lower i hi, ext_inRatio.upper i hi⟩)
    (fun i _ => ?_) hT (by grind) (fun i _ j _ _ => ?_) (by grind) (fun i _ j _ _ => ?_) fun c _ => ?_).1
  · simp only [EuclidLe, sumOver]; grind
  · simp only [EuclidLe, sumOver]; grind
  · simp only [EuclidLe, sumOver]; grind
  · simp only [mean_tilt_eq, Std.le_refl, if_true]
    simp only [tok, half, rad, sumOver, if_true, if_false, Bool.false_eq_true]
    grind

end ProofKV
end

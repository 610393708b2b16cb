module

public import ProofKV.Lemmas.Output
public import ProofKV.Lemmas.Witness

/-! The output bound with the range of the true values. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Split with true values**: with compressed weights `q`, exact weights `p`, true values `v` in `[lo, hi]` and value errors
bounded by `d`, a coordinate of the output is off by at most `tv (hi - lo) + mean of d under q`. -/
theorem output_coordinate_le_split_true {I : List ι} {p q v v' d : ι → α} {lo hi : α}
    (hp : IsDist I p)
    (hq : IsDist I q)
    (hv : ∀ i ∈ I, lo ≤ v i ∧ v i ≤ hi)
    (hd : ∀ i ∈ I, absV (v i - v' i) ≤ d i) :
    absV (mean I p v - mean I q v') ≤ tv I p q * (hi - lo) + mean I q d := by
  have ht := hp.total.trans hq.total.symm
  have h1 := mean_diff_le_range ht hv
  have h2 := mean_diff_le_range ht.symm hv
  rw [tv_comm] at h2
  have h3 := absV_le.mp (absV_mean_le hq.nonneg hd)
  rw [mean_sub] at h3
  exact absV_le.mpr (by grind)

example : absV (mean tok (tilt tok half ext) (fun b => if b then 1 else 0) - mean tok half fun b => if b then 1 else 0) ≤
    tv tok (tilt tok half ext) half * (1 - 0) + mean tok half fun _ => 0 := by
  refine output_coordinate_le_split_true ⟨fun i _ => ?_, ?_⟩ half_isDist (fun i _ => ?_) fun i _ => ?_
  · exact div_nn (mul_nn (half_isDist.nonneg i (by cases i <;> simp [tok])) (Std.le_of_lt (ext_inRatio.pos i (by cases i <;> simp [tok]))))
      (tilt_total_pos half_isDist ext_inRatio.pos)
  · exact tilt_total (tilt_total_pos half_isDist ext_inRatio.pos)
  · cases i <;> simp <;> grind
  · exact absV_le.mpr (by grind)

end ProofKV
end

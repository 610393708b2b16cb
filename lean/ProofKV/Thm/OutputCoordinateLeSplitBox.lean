module

public import ProofKV.Lemmas.Output
public import ProofKV.Lemmas.Witness

/-! The output bound with the range of the compressed values. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Split with compressed values**: with the range of the compressed values `v'` the value errors must be averaged under the exact
weights: the coordinate is off by at most `tv (hi - lo) + mean of d under p`. -/
theorem output_coordinate_le_split_box {I : List ι} {p q v v' d : ι → α} {lo hi : α}
    (hp : IsDist I p)
    (hq : IsDist I q)
    (hv : ∀ i ∈ I, lo ≤ v' i ∧ v' i ≤ hi)
    (hd : ∀ i ∈ I, absV (v i - v' i) ≤ d i) :
    absV (mean I p v - mean I q v') ≤ tv I p q * (hi - lo) + mean I p d := by
  have ht := hp.total.trans hq.total.symm
  have h1 := mean_diff_le_range ht hv
  have h2 := mean_diff_le_range ht.symm hv
  rw [tv_comm] at h2
  have h3 := absV_le.mp (absV_mean_le hp.nonneg hd)
  rw [mean_sub] at h3
  exact absV_le.mpr (by grind)

example : absV (mean tok half (fun _ => 2) - mean tok half fun _ => 1) ≤ tv tok half half * (1 - 1) + mean tok half fun _ => 1 :=
  output_coordinate_le_split_box half_isDist half_isDist (fun _ _ => by grind) fun _ _ => absV_le.mpr (by grind)

end ProofKV
end

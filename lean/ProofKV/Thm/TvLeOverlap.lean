module

public import ProofKV.Lemmas.TVMean
public import ProofKV.Lemmas.Witness

/-! The overlap bound: the mean of the ratio bounds and of their inverses. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Overlap bound**: with `A` the mean of the ratio bounds and `B` the mean of their inverses, the total variation
distance is at most `1 - B / A`. -/
theorem tv_le_overlap {I : List ι} {p r w : ι → α}
    (hp : IsDist I p)
    (hw : InRatio I r w) :
    tv I (tilt I p w) p ≤ 1 - (mean I p fun i => (r i)⁻¹) / mean I p r :=
  tv_le_overlap_form hp hw

example : tv tok (tilt tok half ext) half ≤ 1 - (mean tok half fun i => (rad i)⁻¹) / mean tok half rad :=
  tv_le_overlap half_isDist ext_inRatio

end ProofKV
end

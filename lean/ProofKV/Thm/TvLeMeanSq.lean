module

public import ProofKV.Lemmas.TVMean
public import ProofKV.Lemmas.Witness

/-! The mean bound without a side condition. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Mean bound, any mean**: with `A` the mean of the ratio bounds, the total variation distance is at most
`A² / (A² + 4)`, whatever `A` is. -/
theorem tv_le_mean_sq {I : List ι} {p r w : ι → α}
    (hp : IsDist I p)
    (hw : InRatio I r w) :
    tv I (tilt I p w) p ≤ mean I p r * mean I p r / (mean I p r * mean I p r + 4) :=
  tv_le_mean_sq_form hp hw

example : tv tok (tilt tok half ext) half ≤ mean tok half rad * mean tok half rad / (mean tok half rad * mean tok half rad + 4) :=
  tv_le_mean_sq half_isDist ext_inRatio

end ProofKV
end

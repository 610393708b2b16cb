module

public import ProofKV.Lemmas.TVMean
public import ProofKV.Lemmas.Witness

/-! The mean bound: only the mean of the ratio bounds is needed. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Mean bound**: with `A` the mean of the ratio bounds under the compressed weights and `A ≤ 2`, the total variation
distance is at most `1 - 1 / A`. -/
theorem tv_le_mean {I : List ι} {p r w : ι → α}
    (hp : IsDist I p)
    (hw : InRatio I r w)
    (hA : mean I p r ≤ 2) :
    tv I (tilt I p w) p ≤ 1 - 1 / mean I p r :=
  tv_le_mean_form hp hw hA

example : tv tok (tilt tok half fun _ => 1) half ≤ 1 - 1 / mean tok half fun _ => 2 :=
  tv_le_mean half_isDist ⟨fun _ _ => by grind, fun _ _ => by grind, fun _ _ => by grind⟩ (by
    simp only [mean, tok, half, sumOver]; grind)

end ProofKV
end

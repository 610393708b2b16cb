module

public import ProofKV.Lemmas.TVMean
public import ProofKV.Lemmas.Witness

/-! The e-form: half of the squared mean ratio bound minus one. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **e-form**: with `A` the mean of the ratio bounds, the total variation distance is at most `(A² - 1) / 2`. -/
theorem tv_le_eform {I : List ι} {p r w : ι → α}
    (hp : IsDist I p)
    (hw : InRatio I r w) :
    tv I (tilt I p w) p ≤ (mean I p r * mean I p r - 1) / 2 := by
  have h0 := one_pos (α := α)
  have h1 := one_le_mean hp hw.one_le
  generalize hA : mean I p r = A at *
  rcases Std.le_total (a := A) (b := 2) with h2 | h2
  · have h3 := tv_le_mean_form hp hw (by grind)
    rw [hA] at h3
    refine Std.le_trans h3 ?_
    have h4 : 1 - 1 / A = (A - 1) / A := by grind
    rw [h4]
    refine div_le_div_cross (by grind) (by grind) ?_
    have h5 := mul_nn (a := A - 1) (b := A * (A + 1) - 2) (by grind) (by
      have := mul_nn (a := A - 1) (b := A + 2) (by grind) (by grind); grind)
    grind
  · have h3 := tv_le_mean_sq_form hp hw
    rw [hA] at h3
    refine Std.le_trans h3 (Std.le_trans (b := 1) ?_ ?_)
    · exact div_le (by have := sq_nn A; grind) (by grind)
    · have := mul_le_both (a := 2) (b := A) (c := 2) (d := A) (by grind) (by grind) h2 h2
      exact le_div (by grind) (by grind)

example : tv tok (tilt tok half ext) half ≤ (mean tok half rad * mean tok half rad - 1) / 2 :=
  tv_le_eform half_isDist ext_inRatio

end ProofKV
end

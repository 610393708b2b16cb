module

public import ProofKV.Lemmas.Logits

/-! The bound of a logit error by a split of the query between box and norm. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Split bound**: let `b i` bound the key error in coordinate `i`, and `nr` its norm (stated by squares, no root is taken). For any
part `g` of the query with norm at most `ng`, the logit error is at most `scale` times the sum of `|q i - g i| b i` plus `ng nr`: the
rest of the query meets the box, and the part the ball. -/
theorem logit_abs_le_split {I : List ι} {q g r b : ι → α} {ng nr scale : α}
    (hscale : 0 ≤ scale)
    (hng : 0 ≤ ng)
    (hnr : 0 ≤ nr)
    (hbox : ∀ i ∈ I, absV (r i) ≤ b i)
    (hg : dot I g g ≤ ng * ng)
    (hr : dot I r r ≤ nr * nr) :
    absV (scale * dot I q r) ≤ scale * (sumOver I (fun i => absV (q i - g i) * b i) + ng * nr) := by
  have hs : absV scale = scale := by have := absV_cases scale; grind
  have hsplit : dot I q r = dot I (fun i => q i - g i) r + dot I g r := by
    rw [← dot_add_left]
    unfold dot
    exact sumOver_congr fun i _ => by grind
  have hrest : absV (dot I (fun i => q i - g i) r) ≤ sumOver I fun i => absV (q i - g i) * b i := by
    refine Std.le_trans (absV_sumOver_le _ _) (sumOver_le fun i hi => ?_)
    rw [absV_mul]
    exact mul_le_left (absV_nn _) (hbox i hi)
  have hpart := absV_dot_le hng hnr hg hr
  rw [absV_mul, hs, hsplit]
  refine mul_le_left hscale ?_
  have := absV_add_le (dot I (fun i => q i - g i) r) (dot I g r)
  grind

example : absV ((1 : Rat) * dot [true, false] (fun _ => 2) fun _ => 1) ≤
    1 * (sumOver [true, false] (fun _ => absV ((2 : Rat) - 1) * 1) + 2 * 2) :=
  logit_abs_le_split (g := fun _ => 1) (by grind) (by grind) (by grind) (fun _ _ => absV_le.mpr (by grind))
    (by simp only [dot, sumOver]; grind) (by simp only [dot, sumOver]; grind)

end ProofKV
end

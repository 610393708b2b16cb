module

public import ProofKV.Thm.UnionBound
public import ProofKV.Thm.TvLeOdds
import ProofKV.Lemmas.Witness

/-! The probability that total variation exceeds its bound under random radii. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Probability of a violated bound**: over the draws `o` of a random quantizer, let the distribution and the ratios
depend on the draw. The total variation distance exceeds the odds bound with probability at most the sum, over the
tokens, of the probabilities that the ratio leaves its interval. The distribution may depend on the draw as well. -/
theorem prob_tv_gt_le_sum {κ : Type w} {O : List κ} {P : κ → α} {I : List ι} {p w : κ → ι → α} {r : ι → α} {k : α}
    (hP : ∀ o ∈ O, 0 ≤ P o)
    (hp : ∀ o ∈ O, IsDist I (p o))
    (hr : ∀ i ∈ I, 1 ≤ r i)
    (hk : 1 ≤ k)
    (hpair : ∀ i ∈ I, ∀ j ∈ I, i ≠ j → r i * r j ≤ k * k) :
    prob O P (fun o => (k - 1) / (k + 1) < tv I (tilt I (p o) (w o)) (p o)) ≤
      sumOver I fun i => prob O P fun o => ¬ (1 ≤ r i * w o i ∧ w o i ≤ r i) := by
  refine Std.le_trans (prob_mono hP fun o ho hbad => ?_) (prob_exists_le_sum hP I)
  refine Classical.byContradiction fun h => ?_
  have hw : ∀ i ∈ I, 1 ≤ r i * w o i ∧ w o i ≤ r i := fun i hi =>
    Classical.byContradiction fun hn => h ⟨i, hi, hn⟩
  have := tv_le_odds (hp o ho) ⟨hr, fun i hi => (hw i hi).1, fun i hi => (hw i hi).2⟩ hk hpair
  grind

example : prob tok half (fun o => (3 - 1) / (3 + 1) < tv tok (tilt tok half fun i => if o then ext i else 1) half) ≤
    sumOver tok fun i => prob tok half fun o =>
      ¬ (1 ≤ rad i * (if o then ext i else 1) ∧ (if o then ext i else 1) ≤ rad i) :=
  prob_tv_gt_le_sum (κ := Bool) (O := tok) (P := half) (I := tok) (r := rad) (k := 3) (p := fun _ => half)
    (w := fun o i => if o then ext i else 1)
    half_isDist.nonneg
    (fun _ _ => half_isDist) ext_inRatio.one_le (by grind) fun i _ j _ _ => by
      cases i <;> cases j <;> simp [rad] <;> grind

end ProofKV
end

module

public import ProofKV.Lemmas.NormSplit
import ProofKV.Lemmas.Witness

/-! The output error in any norm, with the exact weights for the value errors and the diameter of the compressed values. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

variable {κ : Type w} {B : (κ → α) → α → Prop}

/-- **Split with compressed values, in any norm**: with exact weights `p`, compressed weights `q`, value errors at most
`ν i`, and a number `D` that is at least the distance of two compressed values, the output error is at most
`mean of ν under p + tv D`. A bound of the mean of `ν` over the box of weights may replace it. -/
theorem attention_norm_le_split_box {I : List ι} {p q ν : ι → α} {v v' : ι → κ → α} {D M : α}
    (hB : IsNormBound B)
    (hp : IsDist I p)
    (hq : IsDist I q)
    (hν : ∀ i ∈ I, B (fun k => v i k - v' i k) (ν i))
    (hM : mean I p ν ≤ M)
    (hD0 : 0 ≤ D)
    (hD : ∀ i ∈ I, ∀ j ∈ I, i ≠ j → B (fun k => v' i k - v' j k) D) :
    B (fun k => mean I p (fun i => v i k) - mean I q fun i => v' i k) (M + tv I p q * D) := by
  have h1 := hB.sumOver (I := I) (a := p) (b := ν) (x := fun i k => v i k - v' i k) hp.nonneg fun i hi _ => hν i hi
  have h2 := difference_bound hB (v := v') (D := D) (hp.total.trans hq.total.symm) fun i hi j hj => by
    by_cases e : i = j
    · subst e
      have e2 : (fun k => v' i k - v' i k) = fun _ => 0 := by funext k; grind
      rw [e2]
      exact hB.mono hB.zero hD0
    · exact hD i hi j hj e
  have h3 := hB.add (hB.mono h1 hM) h2
  have e : (fun k => (sumOver I fun i => p i * (v i k - v' i k)) +
      (mean I p (fun i => v' i k) - mean I q fun i => v' i k)) =
      fun k => mean I p (fun i => v i k) - mean I q fun i => v' i k := by
    funext k
    have e2 : (fun i => p i * (v i k - v' i k)) = fun i => p i * v i k - p i * v' i k := by funext i; grind
    rw [e2, sumOver_sub]
    unfold mean
    grind
  rw [e] at h3
  exact h3

example : EuclidLe [()] (fun _ => mean tok (tilt tok half ext) (fun _ => (1 : Rat)) - mean tok half fun _ => 0)
    (mean tok (tilt tok half ext) (fun _ => 1) + tv tok (tilt tok half ext) half * 0) := by
  refine attention_norm_le_split_box (κ := Unit) (B := EuclidLe [()]) (v := fun _ _ => 1) (v' := fun _ _ => 0)
    (isNormBound_euclid _) (tilt_isDist_of_pos half_isDist ext_inRatio.pos) half_isDist (fun i _ => ?_) (Std.le_refl _)
    (by grind) fun i _ j _ _ => ?_ <;>
    simp only [EuclidLe, sumOver] <;> grind

end ProofKV
end

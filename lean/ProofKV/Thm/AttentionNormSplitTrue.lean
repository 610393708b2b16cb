module

public import ProofKV.Lemmas.NormSplit
import ProofKV.Lemmas.Witness

/-! The output error in any norm, with the compressed weights for the value errors and the diameter of the true values. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

variable {κ : Type w} {B : (κ → α) → α → Prop}

/-- **Split with true values, in any norm**: with exact weights `p`, compressed weights `q`, value errors at most `ν i`,
and a number `D` that is at least the distance of two compressed values plus their two errors, the output error is at
most `mean of ν under q + tv D`. -/
theorem attention_norm_le_split_true {I : List ι} {p q ν : ι → α} {v v' : ι → κ → α} {D : α}
    (hB : IsNormBound B)
    (hp : IsDist I p)
    (hq : IsDist I q)
    (hν : ∀ i ∈ I, B (fun k => v i k - v' i k) (ν i))
    (hD0 : 0 ≤ D)
    (hD : ∀ i ∈ I, ∀ j ∈ I, i ≠ j → B (fun k => v' i k - v' j k) (D - ν i - ν j)) :
    B (fun k => mean I p (fun i => v i k) - mean I q fun i => v' i k) (mean I q ν + tv I p q * D) := by
  have h1 := hB.sumOver (I := I) (a := q) (b := ν) (x := fun i k => v i k - v' i k) hq.nonneg fun i hi _ => hν i hi
  have h2 := difference_bound hB (v := v) (D := D) (hp.total.trans hq.total.symm) fun i hi j hj => by
    by_cases e : i = j
    · subst e
      have e2 : (fun k => v i k - v i k) = fun _ => 0 := by funext k; grind
      rw [e2]
      exact hB.mono hB.zero hD0
    · have h3 := hB.add (hB.add (hν i hi) (hD i hi j hj e)) (hB.neg (hν j hj))
      have e2 : (fun k => (v i k - v' i k) + (v' i k - v' j k) + - (v j k - v' j k)) = fun k => v i k - v j k := by
        funext k; grind
      rw [e2] at h3
      exact hB.mono h3 (by grind)
  have h3 := hB.add h1 h2
  have e : (fun k => (sumOver I fun i => q i * (v i k - v' i k)) +
      (mean I p (fun i => v i k) - mean I q fun i => v i k)) =
      fun k => mean I p (fun i => v i k) - mean I q fun i => v' i k := by
    funext k
    have e2 : (fun i => q i * (v i k - v' i k)) = fun i => q i * v i k - q i * v' i k := by funext i; grind
    rw [e2, sumOver_sub]
    unfold mean
    grind
  rw [e] at h3
  exact h3

example : EuclidLe [()] (fun _ => mean tok (tilt tok half ext) (fun _ => (1 : Rat)) - mean tok half fun _ => 0)
    (mean tok half (fun _ => 1) + tv tok (tilt tok half ext) half * 2) := by
  refine attention_norm_le_split_true (κ := Unit) (B := EuclidLe [()]) (v := fun _ _ => 1) (v' := fun _ _ => 0)
    (isNormBound_euclid _) (tilt_isDist_of_pos half_isDist ext_inRatio.pos) half_isDist (fun i _ => ?_) (by grind) fun i _ j _ _ => ?_ <;>
    simp only [EuclidLe, sumOver] <;> grind

end ProofKV
end

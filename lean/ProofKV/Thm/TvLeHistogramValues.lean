module

public import ProofKV.Spec.Softmax
public import ProofKV.Spec.Thresholds
import ProofKV.Lemmas.TVCells
import ProofKV.Thm.TvLeHistogram
import ProofKV.Thm.TvLeThresholdValues

/-! The histogram bound by enumeration of threshold sets of bins. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Histogram bound by enumeration**: put every token into a bin whose upper edge `R` is at least its ratio bound, and keep
only the mass of every bin. Let `o` be the places of the bins, along which the edges do not decrease. The largest closed
form over the threshold sets of bins bounds the total variation distance of the tokens. -/
theorem tv_le_histogram_values {κ : Type w} {I : List ι} {p r w : ι → α} {K : List κ} {bin : ι → κ} {R o : κ → α}
    {y : κ → κ → κ → α} {T : α}
    (hp : IsDist I p)
    (hw : InRatio I r w)
    (hK : K.Nodup)
    (hbin : ∀ i ∈ I, bin i ∈ K)
    (hR : ∀ i ∈ I, r i ≤ R (bin i))
    (hR1 : ∀ k ∈ K, 1 ≤ R k)
    (ho : ∀ a ∈ K, ∀ b ∈ K, o a ≤ o b → R a ≤ R b)
    (hy : ∀ a ∈ K, ∀ b ∈ K, o a ≤ o b → ∀ c, (c = a ∨ c = b) →
      y a b c * y a b c ≤ thresholdRadicand K (fun k => sumIf (fun i => bin i = k) I p) R o a b c)
    (hT : ∀ a ∈ K, ∀ b ∈ K, o a ≤ o b → ∀ c, (c = a ∨ c = b) →
      thresholdValue K (fun k => sumIf (fun i => bin i = k) I p) R o a b c (y a b c) ≤ T) :
    tv I (tilt I p w) p ≤ T :=
  tv_le_histogram hp hw hK hbin hR
    (gain_le_threshold_values ⟨fun _ _ => sumIf_nn hp.nonneg, (sum_bins hK hbin p).trans hp.total⟩ hR1 ho hy hT)

example : tv [()] (tilt [()] (fun _ => (1 : Rat)) fun _ => 2) (fun _ => 1) ≤ 1 / 2 := by
  have e : (fun k : Unit => sumIf (fun i => (fun _ => ()) i = k) [()] fun _ => (1 : Rat)) = fun _ => 1 := by
    funext k
    simp only [sumIf, sumOver, if_true]
    grind
  refine tv_le_histogram_values (r := fun _ => 2) (K := [()]) (bin := fun _ => ()) (R := fun _ => 3) (o := fun _ => 0)
    (y := fun _ _ _ => 1) ⟨fun _ _ => by grind, by simp only [sumOver]; grind⟩
    ⟨fun _ _ => by grind, fun _ _ => by grind, fun _ _ => by grind⟩ (by simp) (fun _ _ => by simp) (fun _ _ => by grind)
    (fun _ _ => by grind) (fun _ _ _ _ _ => Std.le_refl _) (fun a _ b _ _ c _ => ?_) fun a _ b _ _ c _ => ?_
  · rw [e]; exact (one_token_value a b c).1
  · rw [e]; exact (one_token_value a b c).2

end ProofKV
end

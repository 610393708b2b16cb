module

public import ProofKV.Lemmas.Prob
public import ProofKV.Spec.Softmax

/-! The Hájek ratio is a softmax with a logit offset. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Hájek as a logit offset**: dividing the weights of a sample by the inclusion probabilities and normalising is the softmax of the
logits shifted by minus the logarithm `ℓ` of the probability (any `ex` that turns differences into quotients). -/
theorem hajek_eq_softmax_offset {S : List ι} {π s ℓ v : ι → α} {ex : α → α}
    (hex : ∀ a b, ex (a - b) = ex a / ex b)
    (hℓ : ∀ i ∈ S, ex (ℓ i) = π i) :
    (sumOver S fun i => ex (s i) / π i * v i) / (sumOver S fun i => ex (s i) / π i) =
      mean S (nrm S fun i => ex (s i - ℓ i)) v := by
  have e : ∀ i ∈ S, ex (s i - ℓ i) = ex (s i) / π i := fun i hi => by rw [hex, hℓ i hi]
  unfold mean nrm
  rw [sumOver_congr e, ← sumOver_div]
  exact sumOver_congr fun i hi => by
    show _ = ex (s i - ℓ i) / _ * v i
    rw [e i hi]
    grind

example : (sumOver [true, false] fun _ => (1 : Rat) / 1 * 3) / (sumOver [true, false] fun _ => (1 : Rat) / 1) =
    mean [true, false] (nrm [true, false] fun _ => 1) fun _ => 3 :=
  hajek_eq_softmax_offset (π := fun _ : Bool => (1 : Rat)) (s := fun _ => 0) (ℓ := fun _ => 0) (v := fun _ => 3) (ex := fun _ => 1)
    (fun _ _ => by grind) fun _ _ => rfl

end ProofKV
end

module

public import ProofKV.Lemmas.Evict

/-! The sidecar bound is attained. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **The sidecar bound is sharp**: some values within the stored bounds attain it. -/
theorem eviction_sidecar_attained {I : List ι} {K : ι → Prop} {p ν : ι → α} {m : α}
    (hp : ∀ i ∈ I, 0 ≤ p i)
    (hν : ∀ i ∈ I, 0 ≤ ν i) :
    ∃ v : ι → α, (∀ i ∈ I, ¬ K i → absV (v i - m) ≤ ν i) ∧
      absV (mean I p v - mean I p fun i => if K i then v i else m) = sumIf (fun i => ¬ K i) I fun i => p i * ν i := by
  refine ⟨fun i => m + ν i, fun i hi _ => absV_le.mpr (by have := hν i hi; grind), ?_⟩
  rw [← mean_sub]
  have e : (mean I p fun i => m + ν i - if K i then m + ν i else m) = sumIf (fun i => ¬ K i) I fun i => p i * ν i :=
    sumOver_congr fun i _ => by by_cases h : K i <;> simp only [h, if_true, if_false, not_true_eq_false, not_false_eq_true] <;> grind
  rw [e]
  have h : 0 ≤ sumIf (fun i => ¬ K i) I fun i => p i * ν i := sumOver_nn fun i hi => by
    have := mul_nn (hp i hi) (hν i hi)
    by_cases h : K i <;> simp only [h, if_true, if_false, not_true_eq_false, not_false_eq_true] <;> grind
  have := absV_cases (sumIf (fun i => ¬ K i) I fun i => p i * ν i)
  grind

example : ∃ v : Bool → Rat, (∀ i ∈ [true], ¬ i = false → absV (v i - 0) ≤ 1) ∧
    absV (mean [true] (fun _ => 1) v - mean [true] (fun _ => 1) fun i => if i = false then v i else 0) =
      sumIf (fun i => ¬ i = false) [true] fun _ => 1 * 1 :=
  eviction_sidecar_attained (K := fun b => b = false) (fun _ _ => by grind) fun _ _ => by grind

end ProofKV
end

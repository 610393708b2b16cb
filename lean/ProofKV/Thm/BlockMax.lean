module

public import ProofKV.Lemmas.Output
public import ProofKV.Lemmas.Witness

/-! Blockwise maxima of ratio bounds. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Block maximum**: an accumulator that uses one value per block which is at least every ratio bound of the block is at least the
accumulator by token, and equal to it when the ratio bound is constant in the block. -/
theorem block_accumulator_le {κ : Type w} {B : List κ} {J : κ → List ι} {p r : ι → α} {R : κ → α}
    (hp : ∀ b ∈ B, ∀ i ∈ J b, 0 ≤ p i)
    (hR : ∀ b ∈ B, ∀ i ∈ J b, r i ≤ R b) :
    (sumOver B fun b => sumOver (J b) fun i => p i * r i) ≤ (sumOver B fun b => R b * sumOver (J b) p) ∧
      ((∀ b ∈ B, ∀ i ∈ J b, r i = R b) →
        (sumOver B fun b => sumOver (J b) fun i => p i * r i) = sumOver B fun b => R b * sumOver (J b) p) := by
  refine ⟨sumOver_le fun b hb => ?_, fun h => sumOver_congr fun b hb => ?_⟩
  · rw [← sumOver_mul]
    exact sumOver_le fun i hi => by have := mul_le_left (hp b hb i hi) (hR b hb i hi); grind
  · rw [← sumOver_mul]
    exact sumOver_congr fun i hi => by rw [h b hb i hi]; grind

example : (sumOver [()] fun _ => sumOver tok fun i => half i * rad i) ≤ sumOver [()] fun _ => 3 * sumOver tok half :=
  (block_accumulator_le (R := fun _ => 3) (fun _ _ => half_isDist.nonneg) fun _ _ i _ => by cases i <;> simp [rad] <;> grind).1

end ProofKV
end

module

public import ProofKV.Lemmas.Output
public import ProofKV.Lemmas.Witness

/-! The mixed split is refuted. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **The mixed split is false**: averaging the value errors under the compressed weights and taking the range of the compressed
values together understates the error; two tokens show it. -/
theorem output_mixed_split_false :
    ∃ p q v v' d : Bool → Rat, IsDist tok p ∧ IsDist tok q ∧ (∀ i ∈ tok, 0 ≤ v' i ∧ v' i ≤ 0) ∧
      (∀ i ∈ tok, absV (v i - v' i) ≤ d i) ∧ tv tok p q * (0 - 0) + mean tok q d < absV (mean tok p v - mean tok q v') := by
  refine ⟨fun _ => 1 / 2, fun b => if b then 99 / 100 else 1 / 100, fun b => if b then 0 else 1, fun _ => 0,
    fun b => if b then 0 else 1, half_isDist, ⟨fun i _ => by cases i <;> simp <;> grind, by simp [tok, sumOver]; grind⟩,
    fun _ _ => by grind, fun i _ => absV_le.mpr (by cases i <;> simp <;> grind), ?_⟩
  simp only [mean, tok, sumOver, if_true, if_false, Bool.false_eq_true]
  have h := le_absV (1 / 2 * (0 : Rat) + (1 / 2 * 1 + 0) - (99 / 100 * 0 + (1 / 100 * 0 + 0)))
  grind

end ProofKV
end

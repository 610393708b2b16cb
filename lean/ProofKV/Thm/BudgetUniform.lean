module

public import ProofKV.Thm.UnionBound
import ProofKV.Lemmas.Witness

/-! A failure budget split in equal shares. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

variable {κ : Type w}

/-- **Uniform budget**: when each of `n` events has probability at most `δ / n`, the probability that any of them
happens is at most `δ`. -/
theorem prob_exists_le_of_uniform {O : List ι} {P : ι → α} {A : κ → ι → Prop} {K : List κ} {δ : α}
    (hP : ∀ o ∈ O, 0 ≤ P o)
    (hK : K ≠ [])
    (hA : ∀ k ∈ K, prob O P (A k) ≤ δ / ofCount K.length) :
    prob O P (fun o => ∃ k ∈ K, A k o) ≤ δ := by
  have hn : (0 : α) < ofCount K.length := ofCount_ps (by cases K <;> simp_all)
  have h := Std.le_trans (prob_exists_le_sum hP (A := A) K) (sumOver_le hA)
  rw [sumOver_const, mul_div_self hn] at h
  exact h

example : prob tok half (fun o => ∃ k ∈ tok, o = k) ≤ 1 :=
  prob_exists_le_of_uniform half_isDist.nonneg (by simp [tok]) fun k _ => by
    cases k <;> simp [prob, sumIf, sumOver, tok, half, ofCount] <;> grind

end ProofKV
end

module

public import ProofKV.Lemmas.Probability
import ProofKV.Lemmas.Witness

/-! The union bound. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

variable {κ : Type w}

/-- **Union bound**: the probability that some event of a list happens is at most the sum of their probabilities; no
independence is needed. -/
theorem prob_exists_le_sum {O : List ι} {P : ι → α} {A : κ → ι → Prop}
    (hP : ∀ o ∈ O, 0 ≤ P o) :
    ∀ K : List κ, prob O P (fun o => ∃ k ∈ K, A k o) ≤ sumOver K fun k => prob O P (A k)
  | [] => by rw [prob_empty (by simp)]; exact Std.le_refl _
  | k :: K => by
    have h1 := prob_exists_le_sum hP (A := A) K
    have h2 := prob_or_le (A := A k) (B := fun o => ∃ k ∈ K, A k o) hP
    have h3 := prob_mono (A := fun o => ∃ j ∈ k :: K, A j o) (B := fun o => A k o ∨ ∃ k ∈ K, A k o) hP
      fun o _ h => by simpa using h
    simp only [sumOver]
    grind

example : prob tok half (fun o => ∃ k ∈ tok, o = k) ≤ sumOver tok fun k => prob tok half fun o => o = k :=
  prob_exists_le_sum half_isDist.nonneg tok

end ProofKV
end

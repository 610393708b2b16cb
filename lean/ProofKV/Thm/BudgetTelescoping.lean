module

public import ProofKV.Thm.UnionBound
import ProofKV.Lemmas.Witness

/-! A failure budget for an unknown number of steps. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Telescoping budget**: when the event of step `t` has probability at most `δ / ((t + 1) (t + 2))`, the probability
that any event of the first `n` steps happens is at most `δ (1 - 1 / (n + 1))`, hence at most `δ` for every `n`. -/
theorem prob_exists_le_of_telescoping {O : List ι} {P : ι → α} {A : Nat → ι → Prop} {δ : α}
    (hP : ∀ o ∈ O, 0 ≤ P o)
    (hδ : 0 ≤ δ)
    (hA : ∀ t, prob O P (A t) ≤ δ / (ofCount (t + 1) * ofCount (t + 2))) (n : Nat) :
    prob O P (fun o => ∃ t, t < n ∧ A t o) ≤ δ * (1 - 1 / ofCount (n + 1)) ∧
      prob O P (fun o => ∃ t, t < n ∧ A t o) ≤ δ := by
  have h0 := one_pos (α := α)
  have key : prob O P (fun o => ∃ t, t < n ∧ A t o) ≤ δ * (1 - 1 / ofCount (n + 1)) := by
    induction n with
    | zero =>
      rw [prob_empty (by simp)]
      simp only [ofCount]; grind
    | succ n ih =>
      have h1 := prob_or_le (A := fun o => ∃ t, t < n ∧ A t o) (B := A n) hP
      have h2 := prob_mono (A := fun o => ∃ t, t < n + 1 ∧ A t o) (B := fun o => (∃ t, t < n ∧ A t o) ∨ A n o) hP
        fun o _ h => by
          obtain ⟨t, ht, hAt⟩ := h
          by_cases e : t = n
          · exact Or.inr (e ▸ hAt)
          · exact Or.inl ⟨t, by omega, hAt⟩
      have h3 := hA n
      have h4 := ofCount_ps (α := α) (n := n + 1) (by omega)
      have e : (ofCount (n + 2) : α) = ofCount (n + 1) + 1 := rfl
      change prob O P _ ≤ δ * (1 - 1 / ofCount (n + 2))
      rw [e] at h3 ⊢
      generalize (ofCount (n + 1) : α) = m at *
      have h5 : δ * (1 - 1 / m) + δ / (m * (m + 1)) = δ * (1 - 1 / (m + 1)) := by grind
      grind
  refine ⟨key, Std.le_trans key ?_⟩
  have h1 := div_ps h0 (ofCount_ps (α := α) (n := n + 1) (by omega))
  have h2 := mul_le_left hδ (a := 1 - 1 / ofCount (n + 1)) (b := 1) (by grind)
  grind

example (n : Nat) : prob tok half (fun o => ∃ t, t < n ∧ t = 0 ∧ o = true) ≤ 1 :=
  (prob_exists_le_of_telescoping (δ := 1) (A := fun t o => t = 0 ∧ o = true) half_isDist.nonneg (by grind) (fun t => by
    cases t with
    | zero => simp [prob, sumIf, sumOver, tok, half, ofCount]; grind
    | succ t =>
      rw [prob_empty (by simp)]
      exact Std.le_of_lt (div_ps (by grind) (mul_ps (ofCount_ps (by omega)) (ofCount_ps (by omega))))) n).2

end ProofKV
end

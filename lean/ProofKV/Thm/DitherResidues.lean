module

public import ProofKV.Lemmas.Quant

/-! The residues of an N-level dither are a permutation of the levels. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Residue permutation**: for any start `X` the residues `(X + k) mod N`, `k < N`, hit every level below `N` exactly once; so on the grid
the error of an `N`-level dither has the same finite law whatever the input is. -/
theorem dither_residue_unique {N : Nat} (X : Nat)
    (hN : 0 < N) :
    ∀ r, r < N → ∃ k, k < N ∧ (X + k) % N = r ∧ ∀ j, j < N → (X + j) % N = r → j = k := by
  intro r hr
  have hX := Nat.mod_lt X hN
  have hdiv := Nat.div_add_mod X N
  have hmod : ∀ k, (X + k) % N = (X % N + k) % N := fun k => by simp [Nat.add_mod]
  have key : ∀ j, j < N → ((X + j) % N = if X % N + j < N then X % N + j else X % N + j - N) := by
    intro j hj
    rw [hmod]
    by_cases h : X % N + j < N
    · simp only [h, if_true]; exact Nat.mod_eq_of_lt h
    · simp only [h, if_false]
      rw [Nat.mod_eq_sub_mod (by omega), Nat.mod_eq_of_lt (by omega)]
  generalize X % N = m at *
  by_cases h : m ≤ r
  · refine ⟨r - m, by omega, ?_, fun j hj e => ?_⟩
    · rw [key _ (by omega)]; simp only [show m + (r - m) < N by omega, if_true]; omega
    · rw [key j hj] at e; by_cases h' : m + j < N <;> simp only [h', if_true, if_false] at e <;> omega
  · refine ⟨r + N - m, by omega, ?_, fun j hj e => ?_⟩
    · rw [key _ (by omega)]; simp only [show ¬ m + (r + N - m) < N by omega, if_false]; omega
    · rw [key j hj] at e; by_cases h' : m + j < N <;> simp only [h', if_true, if_false] at e <;> omega

example : ∃ k, k < 4 ∧ (7 + k) % 4 = 2 ∧ ∀ j, j < 4 → (7 + j) % 4 = 2 → j = k := dither_residue_unique 7 (by omega) 2 (by omega)

end ProofKV
end

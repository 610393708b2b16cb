module

public import ProofKV.Lemmas.Argmax
public import ProofKV.Spec.Refine

/-! Lemmas on the refinement loop. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A scan returns a member of its list. -/
theorem argmaxFrom_mem (l : ι → α) : ∀ (I : List ι) (b : ι), argmaxFrom l b I ∈ b :: I
  | [], b => by simp [argmaxFrom]
  | i :: I, b => by
    simp only [argmaxFrom]
    have h := argmaxFrom_mem l I (if l b < l i then i else b)
    rcases List.mem_cons.mp h with h | h
    · rw [h]
      by_cases hi : l b < l i <;> simp [hi]
    · simp [h]

/-- A certified guess is the exact greedy choice. -/
theorem guess_eq {l e u : ι → α} {b : ι} {I : List ι} (hb : Consistent l e u) (hc : Certified e u (argmaxFrom e b I)) :
    argmaxFrom e b I = argmaxFrom l b I := by
  have hw : IsArgmax l (argmaxFrom e b I) := fun i hi => by
    have := hb i; have := hb (argmaxFrom e b I); have := hc i hi; grind
  have hm := argmaxFrom_mem e I b
  exact (argmaxFrom_eq hw I b (by simpa [eq_comm] using List.mem_cons.mp hm)).symm

/-- The loop with enough fuel returns the exact greedy choice. -/
theorem Refinement.loop_eq {σ : Type w} {l : ι → α} (R : Refinement σ l) (b : ι) (I : List ι) : ∀ (n : Nat) (s : σ),
    R.left s ≤ n → R.loop b I n s = argmaxFrom l b I
  | 0, s, h => by
    unfold Refinement.loop Refinement.guess
    exact argmaxFrom_congr (R.exact s (by omega)) I b
  | n + 1, s, h => by
    unfold Refinement.loop
    by_cases hc : Certified (R.est s) (R.rad s) (R.guess b I s)
    · simp only [hc, if_true]
      exact guess_eq (R.sound s) hc
    · by_cases h0 : R.left s = 0
      · simp only [hc, h0, if_false, if_true]
        exact argmaxFrom_congr (R.exact s h0) I b
      · simp only [hc, h0, if_false]
        have := R.progress s h0
        exact Refinement.loop_eq R b I n (R.step s) (by omega)

end ProofKV
end

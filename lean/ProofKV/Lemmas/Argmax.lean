module

public import ProofKV.Base
public import ProofKV.Spec.Argmax

/-! Lemmas on the greedy choice. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A greedy scan that starts at a strict winner, or at something that meets it later, returns it. -/
theorem argmaxFrom_eq {l : ι → α} {w : ι} (h : IsArgmax l w) : ∀ (I : List ι) (b : ι), (b = w ∨ w ∈ I) →
    argmaxFrom l b I = w
  | [], b, hb => by simpa [argmaxFrom] using hb
  | i :: I, b, hb => by
    simp only [argmaxFrom]
    by_cases hbw : b = w
    · subst hbw
      by_cases hi : l b < l i
      · exfalso
        have : i ≠ b := by intro e; subst e; grind
        have := h i this
        grind
      · simp only [hi, if_false]
        exact argmaxFrom_eq h I b (Or.inl rfl)
    · by_cases hiw : i = w
      · subst hiw
        simp only [h b hbw, if_true]
        exact argmaxFrom_eq h I i (Or.inl rfl)
      · have hw : w ∈ I := by
          rcases hb with hb | hb
          · exact absurd hb hbw
          · rcases List.mem_cons.mp hb with e | e
            · exact absurd e.symm hiw
            · exact e
        exact argmaxFrom_eq h I _ (Or.inr hw)

/-- A scan keeps its start when nothing later is larger. -/
theorem argmaxFrom_self {l : ι → α} {w : ι} : ∀ {I : List ι}, (∀ i ∈ I, l i ≤ l w) → argmaxFrom l w I = w
  | [], _ => rfl
  | i :: I, h => by
    have h1 := h i (by simp)
    have h2 : ¬ l w < l i := by grind
    simp only [argmaxFrom, h2, if_false]
    exact argmaxFrom_self fun j hj => h j (by simp [hj])

/-- A scan that starts below the winner and meets nothing that reaches it before it, moves to the winner. -/
theorem argmaxFrom_pre {l : ι → α} {w : ι} {post : List ι} : ∀ (pre : List ι) (b : ι), l b < l w →
    (∀ i ∈ pre, l i < l w) → argmaxFrom l b (pre ++ w :: post) = argmaxFrom l w post
  | [], b, hb, _ => by simp only [List.nil_append, argmaxFrom, hb, if_true]
  | i :: pre, b, hb, h => by
    simp only [List.cons_append, argmaxFrom]
    refine argmaxFrom_pre pre _ ?_ fun j hj => h j (by simp [hj])
    have := h i (by simp)
    by_cases hi : l b < l i <;> simp only [hi, if_true, if_false] <;> grind

/-- The scan depends only on the logits of the list. -/
theorem argmaxFrom_congr {l l' : ι → α} (h : ∀ i, l i = l' i) : ∀ (I : List ι) (b : ι), argmaxFrom l b I = argmaxFrom l' b I
  | [], _ => rfl
  | i :: I, b => by simp only [argmaxFrom, h]; exact argmaxFrom_congr h I _

end ProofKV
end

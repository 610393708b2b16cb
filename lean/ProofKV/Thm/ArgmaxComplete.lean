module

public import ProofKV.Lemmas.Argmax

/-! The pointwise certificate is sharp. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Completeness**: when the pointwise certificate fails, some logits within the radii do not have this strict winner; so
no test that sees only estimates and radii accepts more. -/
theorem exists_not_argmax_of_not_certified {e u : ι → α} {w : ι}
    (hu : ∀ i, 0 ≤ u i)
    (hfail : ¬ Certified e u w) :
    ∃ l, Consistent l e u ∧ ¬ IsArgmax l w := by
  unfold Certified at hfail
  have ⟨i, hi⟩ : ∃ i, ¬ (i ≠ w → e i + u i < e w - u w) := Classical.not_forall.mp hfail
  have hne : i ≠ w := fun h => hi fun h' => absurd h h'
  have hle : ¬ e i + u i < e w - u w := fun h => hi fun _ => h
  refine ⟨fun j => if j = w then e w - u w else e j + u j, fun j => ?_, fun h => ?_⟩
  · have := hu j
    by_cases hj : j = w
    · subst hj; simp only [if_true]; grind
    · simp only [hj, if_false]; grind
  · have := h i hne
    simp only [hne, if_false, if_true] at this
    exact hle this

example : ∃ l, Consistent l (fun _ : Bool => (0 : Rat)) (fun _ => 0) ∧ ¬ IsArgmax l true :=
  exists_not_argmax_of_not_certified (fun _ => by grind) fun h => by have := h false (by simp); grind

end ProofKV
end

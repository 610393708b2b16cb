module

public import ProofKV.Lemmas.TVHinge
public import ProofKV.Spec.Check
public import ProofKV.Spec.Argmax

/-! Lemmas on the executable checkers. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The executable sum is the sum of the theory. -/
theorem sumRat_eq (f : Entry → Rat) : ∀ I : List Entry, sumRat f I = sumOver I f
  | [] => rfl
  | a :: I => by simp only [sumRat, sumOver, sumRat_eq f I]

/-- What the entry check says. -/
theorem of_checkEntries {I : List Entry} (h : checkEntries I = true) :
    IsDist I (·.p) ∧ ∀ a ∈ I, 1 ≤ a.r := by
  simp only [checkEntries, Bool.and_eq_true, List.all_eq_true, decide_eq_true_eq] at h
  exact ⟨⟨fun a ha => (h.1 a ha).1, by rw [← sumRat_eq]; exact h.2⟩, fun a ha => (h.1 a ha).2⟩

/-- What the pair check says. -/
theorem of_checkPairs {k : Rat} : ∀ {I : List Entry}, checkPairs k I = true →
    ∀ a ∈ I, ∀ b ∈ I, a ≠ b → a.r * b.r ≤ k * k
  | [], _, a, ha, _, _, _ => by simp at ha
  | c :: I, h, a, ha, b, hb, hne => by
    simp only [checkPairs, Bool.and_eq_true, List.all_eq_true, decide_eq_true_eq] at h
    rcases List.mem_cons.mp ha with ea | ha' <;> rcases List.mem_cons.mp hb with eb | hb'
    · exact absurd (ea.trans eb.symm) hne
    · subst ea; exact h.1 b hb'
    · subst eb; have := h.1 a ha'; grind
    · exact of_checkPairs h.2 a ha' b hb' hne

end ProofKV
end

module

public import ProofKV.Lemmas.Check

/-! The checker of a refinement trace is sound. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- Nested enclosures: what holds in the inner one holds in the outer one. -/
theorem holds_of_nested : ∀ {X : List Rat} {I J : List (Rat × Rat)}, checkNested I J = true → Holds X J → Holds X I
  | _, [], [], _, h => h
  | _, a :: I, b :: J, hn, .cons h1 h2 h3 => by
    simp only [checkNested, Bool.and_eq_true, decide_eq_true_eq] at hn
    exact .cons (by grind) (by grind) (holds_of_nested hn.2 h3)
  | _, [], _ :: _, hn, _ => by simp [checkNested] at hn
  | _, _ :: _, [], hn, _ => by simp [checkNested] at hn

/-- Values in intervals that lie below a level are below it. -/
theorem holds_lt {x : Rat} : ∀ {X : List Rat} {I : List (Rat × Rat)}, Holds X I → (∀ a ∈ I, a.2 < x) → ∀ y ∈ X, y < x
  | _, _, .nil, _, y, hy => by simp at hy
  | _, _, .cons (a := a) h1 h2 h3, hI, y, hy => by
    rcases List.mem_cons.mp hy with e | hy
    · have := hI a (by simp); grind
    · exact holds_lt h3 (fun b hb => hI b (by simp [hb])) y hy

/-- **Trace checker**: when it accepts and the last enclosure holds the logits, every enclosure of the trace holds them and the first token
is the strict winner. -/
theorem checkTrace_sound {x : Rat} {X : List Rat} : ∀ {T : List (List (Rat × Rat))} {last : List (Rat × Rat)}
    (_ : checkTrace T = true)
    (_ : T.getLast? = some last)
    (_ : Holds (x :: X) last),
    (∀ e ∈ T, Holds (x :: X) e) ∧ ∀ y ∈ X, y < x
  | [], _, hT, _, _ => by simp [checkTrace] at hT
  | [e], last, hT, hl, hX => by
    simp only [List.getLast?_singleton, Option.some.injEq] at hl
    subst hl
    refine ⟨fun e' he' => by rw [List.mem_singleton.mp he']; exact hX, ?_⟩
    cases hX with
    | cons h1 h2 h3 =>
      simp only [checkTrace, checkMargin, List.all_eq_true, decide_eq_true_eq] at hT
      exact holds_lt h3 fun a ha => by have := hT a ha; grind
  | e :: e' :: rest, last, hT, hl, hX => by
    simp only [checkTrace, Bool.and_eq_true] at hT
    have ih := checkTrace_sound (T := e' :: rest) hT.2 (by simpa using hl) hX
    refine ⟨fun d hd => ?_, ih.2⟩
    rcases List.mem_cons.mp hd with rfl | hd
    · exact holds_of_nested hT.1 (ih.1 e' (by simp))
    · exact ih.1 d hd

example : checkTrace [[(0, 3), (0, 1)], [(2, 3), (0, 1)]] = true := by decide +kernel

end ProofKV
end

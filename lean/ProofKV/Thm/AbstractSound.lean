module

public import ProofKV.Lemmas.Compose

/-! Abstract interpretation of composed layers. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Composed enclosures**: if every abstract step encloses its concrete step, the composition of the abstract steps encloses the
composition of the concrete steps. -/
theorem abstract_run_sound {A : Type w} {X : Type x} {encloses : A → X → Prop} :
    ∀ (ts : List (AbstractStep A X)) (a : A) (x : X)
      (_ : ∀ t ∈ ts, ∀ a x, encloses a x → encloses (t.abstract a) (t.concrete x))
      (_ : encloses a x),
      encloses (runAbstract ts a) (runConcrete ts x)
  | [], _, _, _, h => h
  | t :: ts, a, x, hs, h =>
    abstract_run_sound ts (t.abstract a) (t.concrete x) (fun u hu => hs u (by simp [hu])) (hs t (by simp) a x h)

example : (0 : Rat) + 1 ≤ 1 + 1 ∧ (1 : Rat) + 1 ≤ 2 + 1 :=
  abstract_run_sound (A := Rat × Rat) (X := Rat) (encloses := fun a x => a.1 ≤ x ∧ x ≤ a.2)
    [⟨fun x => x + 1, fun a => (a.1 + 1, a.2 + 1)⟩] (0, 2) 1
    (fun t ht a x h => by rw [List.mem_singleton.mp ht]; grind) (by grind)

end ProofKV
end

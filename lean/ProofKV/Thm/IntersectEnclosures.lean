module

public import ProofKV.Lemmas.Refine

/-! Intersecting two sound enclosures. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Intersection**: the intersection of two sound enclosures of the same number is sound and nested in both. -/
theorem intersect_enclosures {x lo hi lo' hi' : α}
    (hfirst : lo ≤ x ∧ x ≤ hi)
    (hsecond : lo' ≤ x ∧ x ≤ hi') :
    (maxV lo lo' ≤ x ∧ x ≤ minV hi hi') ∧ (lo ≤ maxV lo lo' ∧ minV hi hi' ≤ hi) ∧ (lo' ≤ maxV lo lo' ∧ minV hi hi' ≤ hi') := by
  have := maxV_cases lo lo'
  have := minV_cases hi hi'
  grind

example : maxV (0 : Rat) 1 ≤ 3 / 2 ∧ (3 / 2 : Rat) ≤ minV 2 3 :=
  (intersect_enclosures (x := 3 / 2) (lo := 0) (hi := 2) (lo' := 1) (hi' := 3) (by grind) (by grind)).1

end ProofKV
end

module

public import ProofKV.Lemmas.Refine

/-! The refinement loop is exact for any strategy. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Refinement loop**: whatever the strategy, with as many rounds as pages are left the loop returns the exact greedy choice, ties
included. -/
theorem refinement_loop_exact {σ : Type w} {l : ι → α} (R : Refinement σ l) (b : ι) (I : List ι) {n : Nat} {s : σ}
    (hfuel : R.left s ≤ n) :
    R.loop b I n s = argmaxFrom l b I := R.loop_eq b I n s hfuel

example (l : Bool → Rat) (R : Refinement Nat l) : R.loop true [false] (R.left 0) 0 = argmaxFrom l true [false] :=
  refinement_loop_exact R _ _ (Nat.le_refl _)

end ProofKV
end

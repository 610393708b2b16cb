module

public import ProofKV.Lemmas.Refine

/-! Without reference values in the pages of generated tokens, exactness fails. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **The invariant is needed**: there is a cache whose every step chooses exactly what the reference chooses for the pages it holds, and
whose output still differs, because the page of a generated token does not hold the reference value. -/
theorem decode_differs_without_reference_pages :
    ∃ (next : List Nat → Nat) (update update' : List Nat → Nat → List Nat),
      decode next update' 2 [0] ≠ decode next update 2 [0] :=
  ⟨fun c => c.headD 0, fun c t => (t + 1) :: c, fun c _ => 0 :: c, by decide⟩

end ProofKV
end

module

public import ProofKV.Lemmas.Argmax

/-! A strict winner is unique. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Uniqueness**: two strict winners of the same logits are equal. -/
theorem argmax_unique {l : ι → α} {w w' : ι}
    (hw : IsArgmax l w)
    (hw' : IsArgmax l w') :
    w = w' := by
  by_cases h : w = w'
  · exact h
  · have h1 := hw w' (Ne.symm h)
    have h2 := hw' w h
    grind

example : true = true :=
  argmax_unique (l := fun b : Bool => if b then (1 : Rat) else 0) (fun i hi => by cases i <;> simp at hi ⊢ <;> grind)
    fun i hi => by cases i <;> simp at hi ⊢ <;> grind

end ProofKV
end

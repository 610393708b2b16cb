module

public import ProofKV.Lemmas.Argmax

/-! The pairwise argmax certificate. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Pairwise certificate**: if every difference to the winner is within `m i` of its estimate and every estimated margin
is larger than `m i`, the winner is the exact argmax. -/
theorem argmax_of_pairwise {l e m : ι → α} {w : ι}
    (hbound : ∀ i, absV ((l w - l i) - (e w - e i)) ≤ m i)
    (hmargin : ∀ i, i ≠ w → m i < e w - e i) :
    IsArgmax l w := fun i hi => by
  have h1 := absV_le.mp (hbound i)
  have h2 := hmargin i hi
  grind

example : IsArgmax (fun b : Bool => if b then (3 : Rat) else 1) true :=
  argmax_of_pairwise (e := fun b => if b then 3 else 1) (m := fun _ => 1 / 2)
    (fun i => absV_le.mpr (by grind)) fun i hi => by cases i <;> simp at hi ⊢ <;> grind

end ProofKV
end

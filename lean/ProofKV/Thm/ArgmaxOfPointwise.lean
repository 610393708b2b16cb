module

public import ProofKV.Lemmas.Argmax

/-! The pointwise argmax certificate. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Pointwise certificate**: if every logit lies within its radius of its estimate and the winner's lower end is above
every other upper end, the winner is the exact argmax. -/
theorem argmax_of_pointwise {l e u : ι → α} {w : ι}
    (hbound : Consistent l e u)
    (hmargin : Certified e u w) :
    IsArgmax l w := fun i hi => by
  have h1 := hbound i
  have h2 := hbound w
  have h3 := hmargin i hi
  grind

example : IsArgmax (fun b : Bool => if b then (3 : Rat) else 1) true :=
  argmax_of_pointwise (e := fun b => if b then 3 else 1) (u := fun _ => 1 / 2)
    (fun i => by grind) fun i hi => by cases i <;> simp at hi ⊢ <;> grind

end ProofKV
end

module

public import ProofKV.Lemmas.Argmax

/-! A certificate survives refinement. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Nested enclosures keep a certificate**: what is certified stays certified after any nested refinement. -/
theorem certified_of_nested {e u e' u' : ι → α} {w : ι}
    (hnested : Nested e u e' u')
    (hmargin : Certified e u w) :
    Certified e' u' w := fun i hi => by
  have h1 := hnested i
  have h2 := hnested w
  have h3 := hmargin i hi
  grind

example : Certified (fun b : Bool => if b then (3 : Rat) else 1) (fun _ => 1 / 4) true :=
  certified_of_nested (e := fun b => if b then 3 else 1) (u := fun _ => 1 / 2) (fun i => by grind)
    fun i hi => by cases i <;> simp at hi ⊢ <;> grind

end ProofKV
end

module

public import ProofKV.Lemmas.Argmax

/-! A certified winner is what the greedy search returns. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Search**: the first-maximum search over any list that contains a certified winner returns it. -/
theorem argmaxFrom_of_certified {l e u : ι → α} {w b : ι} {I : List ι}
    (hmem : w ∈ b :: I)
    (hbound : Consistent l e u)
    (hmargin : Certified e u w) :
    argmaxFrom l b I = w := by
  refine argmaxFrom_eq (fun i hi => ?_) I b (by simpa [eq_comm] using List.mem_cons.mp hmem)
  have h1 := hbound i
  have h2 := hbound w
  have h3 := hmargin i hi
  grind

example : argmaxFrom (fun b : Bool => if b then (3 : Rat) else 1) false [true] = true :=
  argmaxFrom_of_certified (e := fun b => if b then 3 else 1) (u := fun _ => 1 / 2) (by simp)
    (fun i => by grind) fun i hi => by cases i <;> simp at hi ⊢ <;> grind

end ProofKV
end

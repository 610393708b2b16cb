module

public import ProofKV.Lemmas.Argmax

/-! The tie-aware certificate. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Tie-aware certificate**: it is enough that the winner is strictly above what comes before it in the search order and
not below what comes after it; ties resolve as the search resolves them. -/
theorem firstMax_of_tie_aware {l e u : ι → α} {w : ι} {pre post : List ι}
    (hbound : Consistent l e u)
    (hbefore : ∀ i ∈ pre, e i + u i < e w - u w)
    (hafter : ∀ i ∈ post, e i + u i ≤ e w - u w) :
    firstMax l (pre ++ w :: post) = some w := by
  have hw := hbound w
  have h1 : ∀ i ∈ pre, l i < l w := fun i hi => by have := hbound i; have := hbefore i hi; grind
  have h2 : ∀ i ∈ post, l i ≤ l w := fun i hi => by have := hbound i; have := hafter i hi; grind
  cases pre with
  | nil => simp only [List.nil_append, firstMax, argmaxFrom_self h2]
  | cons b pre =>
    simp only [List.cons_append, firstMax]
    rw [argmaxFrom_pre pre b (h1 b (by simp)) fun i hi => h1 i (by simp [hi]), argmaxFrom_self h2]

example : firstMax (fun _ : Bool => (0 : Rat)) [true, false] = some true :=
  firstMax_of_tie_aware (pre := []) (e := fun _ => 0) (u := fun _ => 0) (fun _ => by grind) (by simp) fun _ _ => by grind

end ProofKV
end

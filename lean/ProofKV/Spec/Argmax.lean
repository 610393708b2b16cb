module

public import ProofKV.Spec.Order

/-! Greedy choice, enclosures of logits, and certificates for the winner. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v}

section
variable [LE α] [LT α] [Add α] [Sub α]

omit [LE α] [Add α] [Sub α] in
/-- `w` is the strict winner: every other logit is smaller. -/
def IsArgmax (l : ι → α) (w : ι) : Prop := ∀ i, i ≠ w → l i < l w

omit [LT α] in
/-- Every logit `l i` is within `u i` of its estimate `e i`. -/
def Consistent (l e u : ι → α) : Prop := ∀ i, e i - u i ≤ l i ∧ l i ≤ e i + u i

omit [LE α] in
/-- The lower end of the winner is above every other upper end. -/
def Certified (e u : ι → α) (w : ι) : Prop := ∀ i, i ≠ w → e i + u i < e w - u w

omit [LT α] in
/-- The second enclosure lies inside the first. -/
def Nested (e u e' u' : ι → α) : Prop := ∀ i, e i - u i ≤ e' i - u' i ∧ e' i + u' i ≤ e i + u i

omit [LE α] [Add α] [Sub α] in
/-- The greedy choice that keeps the first maximum, starting from `best`. -/
def argmaxFrom (l : ι → α) (best : ι) : List ι → ι
  | [] => best
  | i :: I => argmaxFrom l (open Classical in if l best < l i then i else best) I

omit [LE α] [Add α] [Sub α] in
/-- The first maximum of a list. -/
def firstMax (l : ι → α) : List ι → Option ι
  | [] => none
  | i :: I => some (argmaxFrom l i I)
end

end ProofKV
end
end

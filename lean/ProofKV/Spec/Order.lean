module

/-! Order operations and finite sums over a linearly ordered field. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] {ι : Type v}

/-- Absolute value. -/
def absV (a : α) : α := if 0 ≤ a then a else -a

/-- The larger of two values. -/
def maxV (a b : α) : α := if a ≤ b then b else a

/-- The smaller of two values. -/
def minV (a b : α) : α := if a ≤ b then a else b

/-- The positive part `(a)₊ = max a 0`. -/
def posPart (a : α) : α := maxV a 0

/-- `x` moved into the interval `[lo, hi]`. -/
def clip (lo hi x : α) : α := maxV lo (minV x hi)

omit [LE α] in
/-- The sum of `f i` over the entries `i` of a list. -/
def sumOver : List ι → (ι → α) → α
  | [], _ => 0
  | i :: I, f => f i + sumOver I f

omit [LE α] in
/-- The sum of `f i` over the entries `i` of a list with `A i`. -/
def sumIf (A : ι → Prop) (I : List ι) (f : ι → α) : α := sumOver I fun i => if A i then f i else 0

/-- A value that bounds `f` on the list from above, attained when the list is not empty: the maximum with base `b`. -/
def maxOver (b : α) : List ι → (ι → α) → α
  | [], _ => b
  | i :: I, f => maxV (f i) (maxOver b I f)

end ProofKV
end
end

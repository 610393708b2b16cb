module

public import ProofKV.Spec.Softmax

/-! Probability by finite enumeration: a list of outcomes with weights, histories of a process, laws of sums. The
expectation of `f` is `mean O P f`. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v} {κ : Type w}

section Events
variable [Field α]

/-- A natural number as a field element. -/
def ofCount : Nat → α
  | 0 => 0
  | n + 1 => ofCount n + 1

/-- The probability of the event `A` under the weights `P` of the outcomes `O`. -/
def prob (O : List ι) (P : ι → α) (A : ι → Prop) : α := sumIf A O P

/-- The mean of `g` over all histories of `n` further steps from the history `h` (newest step first). The next step is
`o` with probability `P h o`, which may depend on the whole history. -/
def historyMean (O : List ι) (P : List ι → ι → α) (g : List ι → α) : Nat → List ι → α
  | 0, h => g h
  | n + 1, h => sumOver O fun o => P h o * historyMean O P g n (o :: h)

/-- The event that the process `M` has been at least `a` somewhere along the history. -/
def Reaches [LE α] (M : List ι → α) (a : α) (h : List ι) : Prop := ∃ s, s <:+ h ∧ a ≤ M s

/-- The indicator of an event. -/
def indicator (A : ι → Prop) (i : ι) : α := if A i then 1 else 0

/-- `M` is a non-negative supermartingale under the step probabilities `P`. -/
structure IsSupermartingale [LE α] (O : List ι) (P : List ι → ι → α) (M : List ι → α) : Prop where
  /-- Every step is a probability distribution. -/
  dist : ∀ h, IsDist O (P h)
  /-- The process is never negative. -/
  nonneg : ∀ h, 0 ≤ M h
  /-- The mean after one step is at most the value before it. -/
  step : ∀ h, (mean O (P h) fun o => M (o :: h)) ≤ M h

/-- The wealth after a history, newest step first: the bet `b` on step `o` multiplies the wealth by
`1 + b (X o - m)`. -/
def wealth (X : ι → α) (m : α) (bet : List ι → α) : List ι → α
  | [] => 1
  | o :: h => wealth X m bet h * (1 + bet h * (X o - m))

end Events

section Laws
variable [Field α]

/-- A finite law: a list of pairs of a weight and a value. -/
abbrev Law (α : Type u) := List (α × α)

/-- The mean of `g` under a law. -/
def Law.mean (L : Law α) (g : α → α) : α := sumOver L fun a => a.1 * g a.2

/-- The law of the sum of two independent values. -/
def Law.add (L L' : Law α) : Law α := L.flatMap fun a => L'.map fun b => (a.1 * b.1, a.2 + b.2)

/-- The law of the sum of independent values with the laws of a list. -/
def Law.sum : List (Law α) → Law α
  | [] => [(1, 0)]
  | L :: Ls => L.add (Law.sum Ls)

/-- The product of the odd numbers below `2 k`. -/
def oddFactorial : Nat → Nat
  | 0 => 1
  | k + 1 => (2 * k + 1) * oddFactorial k

/-- A law with non-negative weights of total one, vanishing odd moments, and even moments at most those of a Gaussian of
variance `V`. -/
structure Law.SubGaussian [LE α] (L : Law α) (V : α) : Prop where
  /-- No weight is negative. -/
  nonneg : ∀ a ∈ L, 0 ≤ a.1
  /-- The weights sum to one. -/
  total : (L.mean fun _ => 1) = 1
  /-- Odd moments vanish. -/
  odd : ∀ k : Nat, (L.mean fun x => x ^ (2 * k + 1)) = 0
  /-- Even moments are at most `(2 k - 1)!! V ^ k`. -/
  even : ∀ k : Nat, (L.mean fun x => x ^ (2 * k)) ≤ ofCount (oddFactorial k) * V ^ k

end Laws

end ProofKV
end
end

module

public import ProofKV.Spec.Order

/-! Finite probability by enumeration. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} {ι : Type v}

variable [Field α]

/-- All samples of a list by independent inclusion with probabilities `π`, with their probabilities. -/
def samples (π : ι → α) : List ι → List (α × List ι)
  | [] => [(1, [])]
  | i :: I => (samples π I).map (fun s => (π i * s.1, i :: s.2)) ++ (samples π I).map fun s => ((1 - π i) * s.1, s.2)

/-- The expectation over all samples. -/
def expect (π : ι → α) (I : List ι) (g : List ι → α) : α := sumOver (samples π I) fun s => s.1 * g s.2

/-- The Horvitz–Thompson estimate of a total. -/
def horvitzThompson (π y : ι → α) (S : List ι) : α := sumOver S fun i => y i / π i

/-- The estimate of its variance from the sample. -/
def htVariance (π y : ι → α) (S : List ι) : α := sumOver S fun i => (1 - π i) / (π i * π i) * (y i * y i)

/-- The probability of an event under the outcome weights `p`. -/
def prob (I : List ι) (p : ι → α) (A : ι → Prop) : α := sumIf A I p

/-- A finite process: from every state a list of next states with probabilities; the probability to reach the level `c` of `M` within
`n` steps. -/
def hitProb {σ : Type v} [LE α] (step : σ → List (α × σ)) (M : σ → α) (c : α) : Nat → σ → α
  | 0, s => if c ≤ M s then 1 else 0
  | n + 1, s => if c ≤ M s then 1 else sumOver (step s) fun t => t.1 * hitProb step M c n t.2

/-- A natural number as an element of the field. -/
def natVal : Nat → α
  | 0 => 0
  | n + 1 => natVal n + 1

/-- The telescoping budget of step `i`: `δ / ((i + 1) (i + 2))`. -/
def telescopeBudget (δ : α) (i : Nat) : α := δ / ((natVal i + 1) * (natVal i + 2))

end ProofKV
end
end

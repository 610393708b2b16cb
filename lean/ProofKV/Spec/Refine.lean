module

public import ProofKV.Spec.Argmax

/-! Monotone refinement: a state with enclosures, a step that refines, and the loop that stops at a certificate. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} {ι : Type v}

section
variable [LE α] [LT α] [Add α] [Sub α] [OfNat α 0]

/-- A refinement process for the logits `l`: every state has a sound enclosure, every step is nested and makes progress, and a
state with nothing left is exact. -/
structure Refinement (σ : Type w) (l : ι → α) where
  /-- Estimates of a state. -/
  est : σ → ι → α
  /-- Radii of a state. -/
  rad : σ → ι → α
  /-- The number of pages that are not yet open. -/
  left : σ → Nat
  /-- One refinement, by any strategy. -/
  step : σ → σ
  /-- Every enclosure is sound. -/
  sound : ∀ s, Consistent l (est s) (rad s)
  /-- Every step makes progress while something is left. -/
  progress : ∀ s, left s ≠ 0 → left (step s) < left s
  /-- With nothing left the estimates are the logits. -/
  exact : ∀ s, left s = 0 → ∀ i, est s i = l i

/-- The greedy choice by estimates. -/
def Refinement.guess {σ : Type w} {l : ι → α} (R : Refinement σ l) (b : ι) (I : List ι) (s : σ) : ι :=
  argmaxFrom (R.est s) b I

/-- The loop: stop at a certified guess, or when nothing is left, else refine; `n` is the fuel. -/
def Refinement.loop {σ : Type w} {l : ι → α} (R : Refinement σ l) (b : ι) (I : List ι) : Nat → σ → ι
  | 0, s => R.guess b I s
  | n + 1, s =>
    if Certified (R.est s) (R.rad s) (R.guess b I s) then R.guess b I s
    else if R.left s = 0 then R.guess b I s
    else R.loop b I n (R.step s)
end

/-- Greedy decoding: `n` tokens from a state, with the next token and the update as functions of the state. -/
def decode {S : Type w} {T : Type x} (next : S → T) (update : S → T → S) : Nat → S → List T
  | 0, _ => []
  | n + 1, s => next s :: decode next update n (update s (next s))

end ProofKV
end
end

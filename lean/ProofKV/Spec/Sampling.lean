module

public import ProofKV.Spec.Softmax

/-! Poisson sampling: every token is kept independently with its own probability. The samples are enumerated with
their weights. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v} {κ : Type w}

variable [Field α]

/-- All samples of the tokens of a list, each with its probability: token `i` is kept with probability `π i`. -/
def samples (π : ι → α) : List ι → List (α × List ι)
  | [] => [(1, [])]
  | i :: I => (samples π I).map (fun s => (π i * s.1, i :: s.2)) ++ (samples π I).map fun s => ((1 - π i) * s.1, s.2)

/-- The expectation of `g` over all samples. -/
def expect (π : ι → α) (I : List ι) (g : List ι → α) : α := sumOver (samples π I) fun s => s.1 * g s.2

/-- The Horvitz-Thompson estimate of a total: every kept value divided by its probability. -/
def htTotal (π y : ι → α) (s : List ι) : α := sumOver s fun i => y i / π i

/-- The variance estimate computed from the sample alone. -/
def htVariance (π y : ι → α) (s : List ι) : α := sumOver s fun i => (1 - π i) / (π i * π i) * (y i * y i)

/-- The Hajek estimate of a weighted mean: the ratio of two Horvitz-Thompson totals. -/
def hajek (π w v : ι → α) (s : List ι) : α := htTotal π (fun i => w i * v i) s / htTotal π w s

end ProofKV
end
end

module

public import ProofKV.Spec.Probability

/-! The law of the residue of an `N`-level dither and scaled laws. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v} {κ : Type w}

variable [Field α]

/-- The law of `c x` for `x` of law `L`. -/
def Law.scale (c : α) (L : Law α) : Law α := L.map fun a => (a.1, c * a.2)

/-- The residues of a dither of `N` levels, in units of the step: `(2 j + 1 - N) / (2 N)` for `j < N`, each with
probability `1 / N`. -/
def ditherLaw (N : Nat) : Law α :=
  (List.range N).map fun j => (1 / ofCount N, (2 * ofCount j + 1 - ofCount N) / (2 * ofCount N))

/-- The law of the sum of `a i r i` over a list of coefficients, for independent dither residues `r i` of `N` levels. -/
def ditherSum (N : Nat) (a : List α) : Law α := Law.sum (a.map fun c => (ditherLaw N).scale c)

end ProofKV
end
end

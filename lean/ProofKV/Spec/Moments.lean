module

public import ProofKV.Spec.Probability

/-! Divided powers, factorials and the Cauchy product of sequences. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v} {κ : Type w}

variable [Field α]

/-- `∑ f j g (n - j)` over `j ≤ n`. -/
def cauchy (f g : Nat → α) : Nat → α
  | 0 => f 0 * g 0
  | n + 1 => f 0 * g (n + 1) + cauchy (fun j => f (j + 1)) g n

/-- The divided power `x ^ n / n!`. -/
def dpow : Nat → α → α
  | 0, _ => 1
  | n + 1, x => dpow n x * x / ofCount (n + 1)

/-- The factorial as a field element. -/
def fac : Nat → α
  | 0 => 1
  | n + 1 => fac n * ofCount (n + 1)

end ProofKV
end
end

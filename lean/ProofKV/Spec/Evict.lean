module

public import ProofKV.Spec.Softmax

/-! Eviction: weights after dropping tokens. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} {ι : Type v}

variable [Field α]

/-- The weights after dropping the tokens outside `K`, renormalised. -/
def keepOnly (I : List ι) (K : ι → Prop) (p : ι → α) (i : ι) : α := if K i then p i / sumIf K I p else 0

end ProofKV
end
end

module

public import ProofKV.Spec.Softmax

/-! A cache that keeps the tokens with `K i` and evicts the others. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v} {κ : Type w}

/-- `F` depends on the values of the kept tokens only. -/
def ReadsOnly {β : Type w} (K : ι → Prop) (F : (ι → α) → β) : Prop :=
  ∀ v v' : ι → α, (∀ i, K i → v i = v' i) → F v = F v'

variable [Field α]

/-- The mass of the evicted tokens. -/
def evictedMass (I : List ι) (K : ι → Prop) (p : ι → α) : α := sumIf (fun i => ¬ K i) I p

/-- The attention weights after eviction: the kept ones, normalised again. -/
def keptDist (I : List ι) (K : ι → Prop) (p : ι → α) (i : ι) : α := if K i then p i / sumIf K I p else 0

/-- The number of evicted tokens, as a field element. -/
def evictedCount (I : List ι) (K : ι → Prop) : α := sumIf (fun i => ¬ K i) I fun _ => (1 : α)

end ProofKV
end
end

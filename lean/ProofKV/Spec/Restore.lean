module

public import ProofKV.Spec.Order

/-! The error of a quantizer from its code and its divisor. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v} {κ : Type w}

variable [Field α] [LE α]

/-- What the encoder alone can be off by: half a divisor, or at a clamped end the reach of the group's range `[low, high]`
beyond the grid point `d c + o`. -/
def encoderError (d c o cMin cMax low high : α) : α :=
  maxV (d / 2) (maxV (if cMax ≤ c then high - (d * c + o) else d / 2) (if c ≤ cMin then d * c + o - low else d / 2))

end ProofKV
end
end

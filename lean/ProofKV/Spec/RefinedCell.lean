module

public import ProofKV.Spec.Softmax

/-! Cells of a dual certificate with a multiplier at either end. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u}

/-- An interval of output masses with a multiplier at either end, and what the bound pays for the step between them. -/
structure RefinedCell (α : Type u) where
  /-- Lower end of the cell. -/
  lo : α
  /-- Upper end of the cell. -/
  hi : α
  /-- The multiplier at the lower end. -/
  muLo : α
  /-- The multiplier at the upper end. -/
  muHi : α
  /-- The price of the step. -/
  step : α

variable [Field α] [LE α]

/-- The cells cover the output masses from zero to one. -/
def RefinedCovers (cells : List (RefinedCell α)) : Prop :=
  ∀ s : α, 0 ≤ s → s ≤ 1 → ∃ c ∈ cells, c.lo ≤ s ∧ s ≤ c.hi

/-- The multipliers are positive and the step is paid for: `step ≥ 0` and `4 step ≥ (1 / muLo - 1 / muHi) (hi - lo)`. -/
def RefinedCell.Valid [LT α] (c : RefinedCell α) : Prop :=
  0 < c.muLo ∧ 0 < c.muHi ∧ 0 ≤ c.step ∧ (c.muLo⁻¹ - c.muHi⁻¹) * (c.hi - c.lo) ≤ 4 * c.step

end ProofKV
end
end

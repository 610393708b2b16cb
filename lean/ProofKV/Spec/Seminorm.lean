module

public import ProofKV.Spec.Order

/-! Seminorms of vectors written as functions, by their two laws: every norm of an error satisfies them. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v} {κ : Type w}

/-- `N` obeys the triangle inequality and scales by absolute values. -/
structure IsSeminorm [Field α] [LE α] (N : (κ → α) → α) : Prop where
  /-- The triangle inequality. -/
  add_le : ∀ x y, N (fun k => x k + y k) ≤ N x + N y
  /-- Scaling by `c` scales `N` by `|c|`. -/
  scale : ∀ (c : α) x, N (fun k => c * x k) = absV c * N x

end ProofKV
end
end

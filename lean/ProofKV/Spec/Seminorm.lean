module

public import ProofKV.Spec.Order

/-! Norms of vectors written as functions. `IsNormBound B` says that `B x t` can be read as "the norm of `x` is at most
`t`"; it holds for every seminorm, and for the Euclidean norm stated by squares, without roots. Definitions only. -/

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

/-- `B x t` behaves like a bound `t` of a norm of `x`. -/
structure IsNormBound [Field α] [LE α] (B : (κ → α) → α → Prop) : Prop where
  /-- The zero vector has norm zero. -/
  zero : B (fun _ => 0) 0
  /-- Bounds are non-negative. -/
  nonneg : ∀ {x t}, B x t → 0 ≤ t
  /-- The triangle inequality. -/
  add : ∀ {x y s t}, B x s → B y t → B (fun k => x k + y k) (s + t)
  /-- Scaling by `c` scales the bound by `|c|`. -/
  scale : ∀ (c : α) {x t}, B x t → B (fun k => c * x k) (absV c * t)
  /-- A larger number is a bound as well. -/
  mono : ∀ {x s t}, B x s → s ≤ t → B x t

/-- The Euclidean norm over the coordinates of a list is at most `t`, by squares. -/
def EuclidLe [Field α] [LE α] (J : List κ) (x : κ → α) (t : α) : Prop := 0 ≤ t ∧ (sumOver J fun k => x k * x k) ≤ t * t

end ProofKV
end
end

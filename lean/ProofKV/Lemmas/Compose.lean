module

public import ProofKV.Base
public import ProofKV.Spec.Compose

/-! Lemmas on composed layers. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A layer keeps its promises for the distance `d`. -/
structure LayerOk {X : Type w} (d : X → X → α) (a : Layer X α) : Prop where
  /-- The Lipschitz constant is not negative. -/
  lipNonneg : 0 ≤ a.lip
  /-- The exact map is Lipschitz. -/
  lipschitz : ∀ x y, d (a.exact x) (a.exact y) ≤ a.lip * d x y
  /-- The computed map is close to the exact one. -/
  close : ∀ y, d (a.exact y) (a.approx y) ≤ a.err

/-- Products of non-negative Lipschitz constants are non-negative. -/
theorem lipProd_nn {X : Type w} {d : X → X → α} : ∀ {ls : List (Layer X α)}, (∀ a ∈ ls, LayerOk d a) → 0 ≤ lipProd ls
  | [], _ => Std.le_of_lt one_pos
  | a :: ls, h => mul_nn (lipProd_nn fun b hb => h b (by simp [hb])) (h a (by simp)).lipNonneg

end ProofKV
end

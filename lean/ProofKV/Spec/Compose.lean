module

public import ProofKV.Spec.Order

/-! Composition of layers with error bounds. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} {ι : Type v}

/-- A layer: the exact map, the computed map, a Lipschitz constant of the exact map and a bound of the fresh error. -/
structure Layer (X : Type v) (α : Type u) where
  /-- The exact map. -/
  exact : X → X
  /-- The computed map. -/
  approx : X → X
  /-- Lipschitz constant of the exact map. -/
  lip : α
  /-- Bound of the distance between the maps at one point. -/
  err : α

/-- The exact maps, one after the other. -/
def runExact {X : Type v} : List (Layer X α) → X → X
  | [], x => x
  | a :: ls, x => runExact ls (a.exact x)

/-- The computed maps, one after the other. -/
def runApprox {X : Type v} : List (Layer X α) → X → X
  | [], x => x
  | a :: ls, x => runApprox ls (a.approx x)

variable [Field α]

/-- The product of the Lipschitz constants. -/
def lipProd {X : Type v} : List (Layer X α) → α
  | [] => 1
  | a :: ls => lipProd ls * a.lip

/-- The sum of the fresh errors, each amplified by the layers after it. -/
def errSum {X : Type v} : List (Layer X α) → α
  | [] => 0
  | a :: ls => errSum ls + lipProd ls * a.err

/-- One abstract step: a concrete and an abstract map. -/
structure AbstractStep (A : Type w) (X : Type v) where
  /-- The concrete map. -/
  concrete : X → X
  /-- The abstract map. -/
  abstract : A → A

/-- All concrete steps. -/
def runConcrete {A : Type w} {X : Type v} : List (AbstractStep A X) → X → X
  | [], x => x
  | t :: ts, x => runConcrete ts (t.concrete x)

/-- All abstract steps. -/
def runAbstract {A : Type w} {X : Type v} : List (AbstractStep A X) → A → A
  | [], a => a
  | t :: ts, a => runAbstract ts (t.abstract a)

end ProofKV
end
end

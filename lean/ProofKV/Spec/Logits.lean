module

public import ProofKV.Spec.Order

/-! Vectors as functions on a list of coordinates: dot products and rotations of coordinate planes. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v}

variable [Field α]

/-- The dot product over the coordinates of a list. -/
def dot (I : List ι) (a b : ι → α) : α := sumOver I fun i => a i * b i

/-- One rotation plane: two coordinates. -/
structure Plane (α : Type u) where
  /-- First coordinate. -/
  fst : α
  /-- Second coordinate. -/
  snd : α

/-- The rotation of a plane by the angle with cosine `c` and sine `s`, as rotary position embedding applies it. -/
def Plane.rotate (c s : α) (x : Plane α) : Plane α := ⟨c * x.fst - s * x.snd, s * x.fst + c * x.snd⟩

/-- The squared norm of a plane. -/
def Plane.normSq (x : Plane α) : α := x.fst * x.fst + x.snd * x.snd

/-- The dot product of two planes. -/
def Plane.dot (x y : Plane α) : α := x.fst * y.fst + x.snd * y.snd

end ProofKV
end
end

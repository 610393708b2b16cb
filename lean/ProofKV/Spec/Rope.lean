module

public import ProofKV.Spec.Logits

/-! Rotary embedding of a vector of coordinates: some pairs of coordinates turn, the others rest. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v} {κ : Type w}

/-- The coordinates of a list of planes, two for each. -/
def planeCoords (fst snd : κ → ι) : List κ → List ι
  | [] => []
  | b :: P => fst b :: snd b :: planeCoords fst snd P

/-- `y` is `x` with plane `b` turned by the angle with cosine `c b` and sine `s b`, and the coordinates of `rest` as they are. -/
structure Turned [Field α] (P : List κ) (rest : List ι) (fst snd : κ → ι) (c s : κ → α) (x y : ι → α) : Prop where
  /-- The first coordinate of every plane. -/
  first : ∀ b ∈ P, y (fst b) = c b * x (fst b) - s b * x (snd b)
  /-- The second coordinate of every plane. -/
  second : ∀ b ∈ P, y (snd b) = s b * x (fst b) + c b * x (snd b)
  /-- A coordinate outside the planes does not change. -/
  still : ∀ i ∈ rest, y i = x i

end ProofKV
end
end

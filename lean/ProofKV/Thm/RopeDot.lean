module

public import ProofKV.Lemmas.Logits

/-! Rotating both sides keeps dot products. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Rotation of both sides keeps dot products**: query and key rotated by the same angle have the same dot product. -/
theorem rope_dot {c s : α} (x y : Plane α)
    (hcs : c * c + s * s = 1) :
    (x.rotate c s).dot (y.rotate c s) = x.dot y := by
  unfold Plane.rotate Plane.dot
  grind

example : (Plane.rotate (3 / 5 : Rat) (4 / 5) ⟨1, 2⟩).dot (Plane.rotate (3 / 5) (4 / 5) ⟨3, 4⟩) = Plane.dot ⟨1, 2⟩ ⟨3, 4⟩ :=
  rope_dot _ _ (by grind)

end ProofKV
end

module

public import ProofKV.Lemmas.Logits

/-! Rotary embedding preserves the norm of every plane. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Rotation keeps plane norms**: with `c² + s² = 1` the rotated plane has the same squared norm, at every position. -/
theorem rope_normSq {c s : α} (x : Plane α)
    (hcs : c * c + s * s = 1) :
    (x.rotate c s).normSq = x.normSq := by
  unfold Plane.rotate Plane.normSq
  grind

example : (Plane.rotate (3 / 5 : Rat) (4 / 5) ⟨1, 2⟩).normSq = Plane.normSq ⟨1, 2⟩ := rope_normSq _ (by grind)

end ProofKV
end

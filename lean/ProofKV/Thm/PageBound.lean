module

public import ProofKV.Lemmas.Refine

/-! The additive page bound, for every set of opened pages at once. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Additive page bound**: when a value is a sum of page contributions, each known up to a radius, then for every set of opened pages the
error is at most the sum of the radii of the pages that are still closed. -/
theorem page_bound_le {π : Type w} {pages : List π} {c c' r : π → α}
    (hpage : ∀ p ∈ pages, absV (c p - c' p) ≤ r p)
    (opened : π → Prop) :
    absV (sumOver pages c - sumOver pages fun p => if opened p then c p else c' p) ≤
      sumOver pages fun p => if opened p then 0 else r p := by
  rw [← sumOver_sub]
  refine Std.le_trans (absV_sumOver_le _ _) (sumOver_le fun p hp => ?_)
  by_cases h : opened p <;> simp only [h, if_true, if_false]
  · have := absV_cases (c p - c p); grind
  · exact hpage p hp

example (opened : Bool → Prop) :
    absV (sumOver [true, false] (fun _ => (1 : Rat)) - sumOver [true, false] fun p => if opened p then 1 else 2) ≤
      sumOver [true, false] fun p => if opened p then 0 else 1 :=
  page_bound_le (c := fun _ => 1) (c' := fun _ => 2) (r := fun _ => 1) (fun _ _ => absV_le.mpr (by grind)) opened

end ProofKV
end

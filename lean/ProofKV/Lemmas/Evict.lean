module

public import ProofKV.Lemmas.Output
public import ProofKV.Spec.Evict

/-! Lemmas on eviction. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- Sums over a condition of a difference. -/
theorem sumIf_sub (A : ι → Prop) (I : List ι) (f g : ι → α) :
    sumIf A I (fun i => f i - g i) = sumIf A I f - sumIf A I g := by
  unfold sumIf
  rw [← sumOver_sub]
  exact sumOver_congr fun i _ => by by_cases h : A i <;> simp only [h, if_true, if_false] <;> grind

end ProofKV
end

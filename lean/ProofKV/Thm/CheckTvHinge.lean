module

public import ProofKV.Lemmas.Check
public import ProofKV.Thm.TvLeOdds
public import ProofKV.Thm.TvLeMean
public import ProofKV.Thm.TvLeHinge

/-! The checker of the hinge bound is sound. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Hinge checker**: when it accepts, every exact weighting within the ratio bounds is within `T` in total variation. -/
theorem checkTvHinge_sound {I : List Entry} {k T : Rat} {w : Entry → Rat}
    (haccept : checkTvHinge I k T = true)
    (hlow : ∀ a ∈ I, 1 ≤ a.r * w a)
    (hup : ∀ a ∈ I, w a ≤ a.r) :
    tv I (tilt I (·.p) w) (·.p) ≤ T := by
  simp only [checkTvHinge, Bool.and_eq_true, decide_eq_true_eq, sumRat_eq] at haccept
  have ⟨⟨⟨he, hk⟩, hE⟩, hT⟩ := haccept
  have ⟨hp, hr⟩ := of_checkEntries he
  refine Std.le_trans (tv_le_hinge hp ⟨hr, hlow, hup⟩ hk ?_ hE) hT
  refine sumOver_congr fun a _ => ?_
  have e : (if k ≤ a.r then a.r - k else 0) = posPart (a.r - k) := by
    have := posPart_cases (a.r - k)
    by_cases h : k ≤ a.r <;> simp only [h, if_true, if_false] <;> grind
  rw [e]

example : checkTvHinge [⟨0, 1 / 4, 3⟩, ⟨1, 3 / 4, 1⟩] 2 (2 / 3) = true := by decide +kernel

end ProofKV
end

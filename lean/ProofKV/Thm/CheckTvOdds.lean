module

public import ProofKV.Lemmas.Check
public import ProofKV.Thm.TvLeOdds
public import ProofKV.Thm.TvLeMean
public import ProofKV.Thm.TvLeHinge

/-! The checker of the odds bound is sound. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Odds checker**: when it accepts, every exact weighting within the ratio bounds is within `T` in total variation. -/
theorem checkTvOdds_sound {I : List Entry} {k T : Rat} {w : Entry → Rat}
    (haccept : checkTvOdds I k T = true)
    (hlow : ∀ a ∈ I, 1 ≤ a.r * w a)
    (hup : ∀ a ∈ I, w a ≤ a.r) :
    tv I (tilt I (·.p) w) (·.p) ≤ T := by
  simp only [checkTvOdds, Bool.and_eq_true, decide_eq_true_eq] at haccept
  have ⟨⟨⟨he, hk⟩, hpairs⟩, hT⟩ := haccept
  have ⟨hp, hr⟩ := of_checkEntries he
  exact Std.le_trans (tv_le_odds hp ⟨hr, hlow, hup⟩ hk (of_checkPairs hpairs)) hT

example : checkTvOdds [⟨0, 1 / 4, 2⟩, ⟨1, 3 / 4, 2⟩] 2 (1 / 3) = true := by decide +kernel

end ProofKV
end

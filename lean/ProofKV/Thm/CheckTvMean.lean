module

public import ProofKV.Lemmas.Check
public import ProofKV.Thm.TvLeOdds
public import ProofKV.Thm.TvLeMean
public import ProofKV.Thm.TvLeHinge

/-! The checker of the mean bound is sound. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Mean checker**: when it accepts, every exact weighting within the ratio bounds is within `T` in total variation. -/
theorem checkTvMean_sound {I : List Entry} {T : Rat} {w : Entry → Rat}
    (haccept : checkTvMean I T = true)
    (hlow : ∀ a ∈ I, 1 ≤ a.r * w a)
    (hup : ∀ a ∈ I, w a ≤ a.r) :
    tv I (tilt I (·.p) w) (·.p) ≤ T := by
  simp only [checkTvMean, Bool.and_eq_true, decide_eq_true_eq, sumRat_eq] at haccept
  have ⟨⟨he, hA⟩, hT⟩ := haccept
  have ⟨hp, hr⟩ := of_checkEntries he
  exact Std.le_trans (tv_le_mean hp ⟨hr, hlow, hup⟩ hA) hT

example : checkTvMean [⟨0, 1 / 4, 2⟩, ⟨1, 3 / 4, 1⟩] (1 / 5) = true := by decide +kernel

end ProofKV
end

module

public import ProofKV.Lemmas.Quant

/-! The bias of an N-level dither. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The mean value of rounding with the `N` offsets `(2 k + 1 - N) / (2 N)`, offsets not subtracted (they add to zero). -/
theorem dither_mean_eq {N : Nat} (hN : 0 < N) (x : Rat) : ∀ t : Nat,
    sumOver (List.range t) (fun k => ((rnd (x + (2 * (k : Rat) + 1 - N) / (2 * N)) : Int) : Rat)) =
      ((hermiteSum N (rnd (N * x)) t : Int) : Rat)
  | 0 => rfl
  | t + 1 => by
    have hN' : (0 : Rat) < (N : Rat) := by exact_mod_cast hN
    rw [List.range_succ, sumOver_append, dither_mean_eq hN x t]
    have e : rnd (x + (2 * (t : Rat) + 1 - N) / (2 * N)) = (rnd (N * x) + t) / (N : Int) := by
      unfold rnd
      have h1 : x + (2 * (t : Rat) + 1 - N) / (2 * N) + 1 / 2 = (N * x + 1 / 2 + ((t : Int) : Rat)) / (N : Rat) := by
        have : ((t : Int) : Rat) = (t : Rat) := by exact_mod_cast rfl
        rw [this]
        grind
      have h2 : (N * x + 1 / 2 + ((t : Int) : Rat)).floor = (N * x + 1 / 2).floor + t := by
        have k : ∀ q : Int, q ≤ (N * x + 1 / 2 + ((t : Int) : Rat)).floor ↔ q ≤ (N * x + 1 / 2).floor + t := by
          intro q
          have : q ≤ (N * x + 1 / 2).floor + t ↔ q - t ≤ (N * x + 1 / 2).floor := by omega
          rw [this, Rat.le_floor_iff, Rat.le_floor_iff, Rat.intCast_sub]
          grind
        have k1 := (k _).mp (Int.le_refl _)
        have k2 := (k _).mpr (Int.le_refl _)
        omega
      rw [h1, floor_div_nat hN, h2]
    simp only [sumOver, hermiteSum, e, Rat.intCast_add]
    grind

/-- **Bias of an N-level dither**: averaged over the `N` offsets `(2 k + 1 - N) / (2 N)`, rounding is `round (N x) / N`: exact on the grid of
multiples of `1 / N`, and off it biased by at most `1 / (2 N)` steps. -/
theorem dither_bias_le {N : Nat} (x : Rat)
    (hN : 0 < N) :
    absV (x - sumOver (List.range N) (fun k => ((rnd (x + (2 * (k : Rat) + 1 - N) / (2 * N)) : Int) : Rat)) / N) ≤ 1 / (2 * N) := by
  have hN' : (0 : Rat) < (N : Rat) := by exact_mod_cast hN
  rw [dither_mean_eq hN, hermiteSum_eq hN]
  have h1 := rnd_le (N * x)
  have h2 := lt_rnd (N * x)
  have h3 : x - ((rnd (N * x) : Int) : Rat) / N = (N * x - ((rnd (N * x) : Int) : Rat)) / N := by grind
  rw [h3]
  refine absV_le.mpr ⟨le_div hN' ?_, div_le hN' ?_⟩
  · have : -(1 / (2 * (N : Rat))) * N = -(1 / 2) := by grind
    grind
  · have : 1 / (2 * (N : Rat)) * N = 1 / 2 := by grind
    grind

example : absV ((1 / 3 : Rat) - sumOver (List.range 4)
    (fun k => ((rnd (1 / 3 + (2 * (k : Rat) + 1 - (4 : Nat)) / (2 * (4 : Nat))) : Int) : Rat)) / (4 : Nat)) ≤
    1 / (2 * (4 : Nat)) := dither_bias_le _ (by omega)

end ProofKV
end

module

public import ProofKV.Spec.RefinedCell
import ProofKV.Lemmas.TVCells
import ProofKV.Lemmas.Witness

/-! The dual cell certificate with a multiplier at either end of a cell. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The gap to the price line divided by the multiplier: `s ν - s B + ∑ p (g - ν)₊` with `ν = 1 / mu`. -/
theorem gap_over_mu {I : List ι} {p l u : ι → α} {mu s : α} (hmu : 0 < mu) :
    mu⁻¹ * (s - priceLine I p l u mu s) =
      s * mu⁻¹ - s * (sumOver I fun i => p i * l i) +
        sumOver I fun i => p i * posPart ((1 - s) * u i + s * l i - mu⁻¹) := by
  have hν := inv_ps hmu
  have e1 : mu⁻¹ * mu = 1 := by grind
  have e : (sumOver I fun i => p i * posPart ((1 - s) * u i + s * l i - mu⁻¹)) =
      mu⁻¹ * sumOver I fun i => p i * posPart (mu * ((1 - s) * u i + s * l i) - 1) := by
    rw [← sumOver_mul]
    refine sumOver_congr fun i _ => ?_
    have := posPart_mul (a := mu * ((1 - s) * u i + s * l i) - 1) (Std.le_of_lt hν)
    rw [show mu⁻¹ * (mu * ((1 - s) * u i + s * l i) - 1) = (1 - s) * u i + s * l i - mu⁻¹ by grind] at this
    rw [this]
    grind
  unfold priceLine
  rw [e]
  generalize (sumOver I fun i => p i * posPart (mu * ((1 - s) * u i + s * l i) - 1)) = S
  generalize (sumOver I fun i => p i * l i) = B
  generalize mu⁻¹ = ν at *
  grind

/-- What the product of `s` and the interpolated inverse multiplier exceeds its chord by is paid for by the step. -/
theorem step_pays {lo hi s ν0 ν1 step : α} (h1 : lo ≤ s) (h2 : s ≤ hi) (hs : 0 ≤ step)
    (hstep : (ν0 - ν1) * (hi - lo) ≤ 4 * step) : (hi - s) * (s - lo) * (ν0 - ν1) ≤ (hi - lo) * step := by
  have r1 := mul_nn (a := hi - s) (b := s - lo) (by grind) (by grind)
  have hw : 0 ≤ hi - lo := by grind
  rcases Std.le_total (a := ν0) (b := ν1) with h | h
  · have r2 := mul_nn r1 (b := ν1 - ν0) (by grind)
    have r3 := mul_nn hw hs
    grind
  · have r2 := sq_nn ((hi - s) - (s - lo))
    have r3 := mul_le_right (a := 4 * ((hi - s) * (s - lo))) (b := (hi - lo) * (hi - lo)) (c := ν0 - ν1)
      (by grind) (by grind)
    have r4 := mul_le_left hw hstep
    clear r1 r2
    grind

/-- The interpolated inverse multiplier is positive. -/
theorem interpolated_pos {lo hi s ν0 ν1 ν : α} (hw : 0 < hi - lo) (h1 : lo ≤ s) (h2 : s ≤ hi) (n0 : 0 < ν0) (n1 : 0 < ν1)
    (hν : (hi - lo) * ν = (hi - s) * ν0 + (s - lo) * ν1) : 0 < ν := by
  have k0 := mul_nn (a := hi - s) (b := ν0) (by grind) (Std.le_of_lt n0)
  have k1 := mul_nn (a := s - lo) (b := ν1) (by grind) (Std.le_of_lt n1)
  have hsum : 0 < (hi - lo) * ν := by
    rw [hν]
    by_cases e' : s = lo
    · have := mul_ps (a := hi - s) (by grind) n0; grind
    · have := mul_ps (a := s - lo) (by grind) n1; grind
  rcases Std.le_total (a := 0) (b := ν) with h | h
  · by_cases e : ν = 0
    · subst e; grind
    · grind
  · have := mul_nn (Std.le_of_lt hw) (b := -ν) (by grind)
    grind

/-- The scalar inequality of a refined cell. -/
theorem refined_scalar {lo hi s ν0 ν1 ν B S S0 S1 step T : α} (hν : (hi - lo) * ν = (hi - s) * ν0 + (s - lo) * ν1)
    (t0 : (hi - s) * (lo * ν0 - lo * B + S0 + step) ≤ (hi - s) * (ν0 * T))
    (t1 : (s - lo) * (hi * ν1 - hi * B + S1 + step) ≤ (s - lo) * (ν1 * T))
    (hconv : (hi - lo) * S ≤ (hi - s) * S0 + (s - lo) * S1)
    (hprod : (hi - s) * (s - lo) * (ν0 - ν1) ≤ (hi - lo) * step) :
    (hi - lo) * (s * ν - s * B + S) ≤ (hi - lo) * ν * T := by
  have e1 : (hi - lo) * (s * ν - s * B + S) = s * ((hi - lo) * ν) - (hi - lo) * (s * B) + (hi - lo) * S := by
    clear hν t0 t1 hconv hprod; grind
  have e2 : s * ((hi - s) * ν0 + (s - lo) * ν1) = (hi - s) * (lo * ν0) + (s - lo) * (hi * ν1) +
      (hi - s) * (s - lo) * (ν0 - ν1) := by clear hν t0 t1 hconv hprod e1; grind
  have e3 : (hi - lo) * (s * B) = (hi - s) * (lo * B) + (s - lo) * (hi * B) := by clear hν t0 t1 hconv hprod e1 e2; grind
  have e4 : (hi - lo) * step = (hi - s) * step + (s - lo) * step := by clear hν t0 t1 hconv hprod e1 e2 e3; grind
  have e5 : ((hi - s) * ν0 + (s - lo) * ν1) * T = (hi - s) * (ν0 * T) + (s - lo) * (ν1 * T) := by
    clear hν t0 t1 hconv hprod e1 e2 e3 e4; grind
  rw [e1, hν, e2, e3, e5]
  rw [e4] at hprod
  have e6 : (hi - s) * (lo * ν0 - lo * B + S0 + step) =
      (hi - s) * (lo * ν0) - (hi - s) * (lo * B) + (hi - s) * S0 + (hi - s) * step := by
    clear hν t0 t1 hconv hprod e1 e2 e3 e4 e5; grind
  have e7 : (s - lo) * (hi * ν1 - hi * B + S1 + step) =
      (s - lo) * (hi * ν1) - (s - lo) * (hi * B) + (s - lo) * S1 + (s - lo) * step := by
    clear hν t0 t1 hconv hprod e1 e2 e3 e4 e5 e6; grind
  rw [e6] at t0
  rw [e7] at t1
  clear e1 e2 e3 e4 e5 e6 e7 hν
  generalize (hi - s) * (s - lo) * (ν0 - ν1) = x1 at *
  generalize (hi - s) * (lo * ν0) = x2 at *
  generalize (hi - s) * (lo * B) = x3 at *
  generalize (hi - s) * S0 = x4 at *
  generalize (hi - s) * step = x5 at *
  generalize (s - lo) * (hi * ν1) = x6 at *
  generalize (s - lo) * (hi * B) = x7 at *
  generalize (s - lo) * S1 = x8 at *
  generalize (s - lo) * step = x9 at *
  generalize (hi - lo) * S = x10 at *
  generalize (hi - s) * (ν0 * T) = x11 at *
  generalize (s - lo) * (ν1 * T) = x12 at *
  grind

/-- In a refined cell the gap to the price line of some positive multiplier is at most what the two ends allow. -/
theorem refined_cell {I : List ι} {p l u : ι → α} {c : RefinedCell α} {s T : α} (hp : IsDist I p) (hc : c.Valid)
    (h1 : c.lo ≤ s) (h2 : s ≤ c.hi)
    (hlo : c.lo - priceLine I p l u c.muLo c.lo + c.step * c.muLo ≤ T)
    (hhi : c.hi - priceLine I p l u c.muHi c.hi + c.step * c.muHi ≤ T) :
    ∃ mu : α, s - priceLine I p l u mu s ≤ T := by
  obtain ⟨m0, m1, hs, hstep⟩ := hc
  by_cases e : c.lo = c.hi
  · have : s = c.lo := by grind
    subst this
    have := mul_nn hs (Std.le_of_lt m0)
    exact ⟨c.muLo, by grind⟩
  have hw : 0 < c.hi - c.lo := by grind
  have n0 := inv_ps m0
  have n1 := inv_ps m1
  have g0 := gap_over_mu (I := I) (p := p) (l := l) (u := u) (s := c.lo) m0
  have g1 := gap_over_mu (I := I) (p := p) (l := l) (u := u) (s := c.hi) m1
  have b0 := mul_le_left (Std.le_of_lt n0) hlo
  have b1 := mul_le_left (Std.le_of_lt n1) hhi
  have i0 : c.muLo⁻¹ * (c.step * c.muLo) = c.step := by grind
  have i1 : c.muHi⁻¹ * (c.step * c.muHi) = c.step := by grind
  generalize hν : ((c.hi - s) * c.muLo⁻¹ + (s - c.lo) * c.muHi⁻¹) / (c.hi - c.lo) = ν
  have hνw : (c.hi - c.lo) * ν = (c.hi - s) * c.muLo⁻¹ + (s - c.lo) * c.muHi⁻¹ := by rw [← hν]; exact mul_div_self hw
  have hνpos := interpolated_pos hw h1 h2 n0 n1 hνw
  refine ⟨ν⁻¹, ?_⟩
  have g := gap_over_mu (I := I) (p := p) (l := l) (u := u) (s := s) (inv_ps hνpos)
  rw [show ν⁻¹⁻¹ = ν by grind] at g
  refine le_of_mul (mul_ps hw hνpos) ?_
  -- The hinge sum is convex along the cell.
  have hconv : (c.hi - c.lo) * (sumOver I fun i => p i * posPart ((1 - s) * u i + s * l i - ν)) ≤
      (c.hi - s) * (sumOver I fun i => p i * posPart ((1 - c.lo) * u i + c.lo * l i - c.muLo⁻¹)) +
        (s - c.lo) * sumOver I fun i => p i * posPart ((1 - c.hi) * u i + c.hi * l i - c.muHi⁻¹) := by
    rw [← sumOver_mul, ← sumOver_mul, ← sumOver_mul, ← sumOver_add]
    refine sumOver_le fun i hmem => ?_
    have q1 := posPart_convex (a := (1 - c.lo) * u i + c.lo * l i - c.muLo⁻¹)
      (b := (1 - c.hi) * u i + c.hi * l i - c.muHi⁻¹) (t := c.hi - s) (s := s - c.lo) (by grind) (by grind)
    have q2 : (c.hi - s) * ((1 - c.lo) * u i + c.lo * l i - c.muLo⁻¹) +
        (s - c.lo) * ((1 - c.hi) * u i + c.hi * l i - c.muHi⁻¹) =
        (c.hi - c.lo) * ((1 - s) * u i + s * l i - ν) := by
      have : (c.hi - c.lo) * ((1 - s) * u i + s * l i - ν) =
          (c.hi - c.lo) * ((1 - s) * u i + s * l i) - ((c.hi - s) * c.muLo⁻¹ + (s - c.lo) * c.muHi⁻¹) := by
        rw [← hνw]; grind
      rw [this]
      grind
    rw [q2, posPart_mul (Std.le_of_lt hw)] at q1
    have := mul_le_left (hp.nonneg i hmem) q1
    grind
  have hprod := step_pays (ν0 := c.muLo⁻¹) (ν1 := c.muHi⁻¹) h1 h2 hs hstep
  have t0 := mul_le_left (c := c.hi - s) (by grind) b0
  have t1 := mul_le_left (c := s - c.lo) (by grind) b1
  have eq : (c.hi - c.lo) * ν * (s - priceLine I p l u ν⁻¹ s) =
      (c.hi - c.lo) * (ν * (s - priceLine I p l u ν⁻¹ s)) := by grind
  rw [eq, g]
  generalize (sumOver I fun i => p i * posPart ((1 - s) * u i + s * l i - ν)) = S at *
  generalize (sumOver I fun i => p i * posPart ((1 - c.lo) * u i + c.lo * l i - c.muLo⁻¹)) = S0 at *
  generalize (sumOver I fun i => p i * posPart ((1 - c.hi) * u i + c.hi * l i - c.muHi⁻¹)) = S1 at *
  generalize (sumOver I fun i => p i * l i) = B at *
  generalize priceLine I p l u c.muLo c.lo = P0 at *
  generalize priceLine I p l u c.muHi c.hi = P1 at *
  have f0 : c.muLo⁻¹ * (c.lo - P0 + c.step * c.muLo) = c.lo * c.muLo⁻¹ - c.lo * B + S0 + c.step := by grind
  have f1 : c.muHi⁻¹ * (c.hi - P1 + c.step * c.muHi) = c.hi * c.muHi⁻¹ - c.hi * B + S1 + c.step := by grind
  rw [f0] at t0
  rw [f1] at t1
  refine refined_scalar hνw t0 t1 hconv hprod

/-- **Refined cell certificate**: take cells that cover the output masses from zero to one, each with a positive multiplier
at either end, and add to the gap at an end the multiplier times the price of the step, a quarter of the fall of the
inverse multiplier times the width. What bounds these numbers bounds the total variation distance. -/
theorem tv_le_refined_cells {I : List ι} {p l u w : ι → α} {cells : List (RefinedCell α)} {T : α}
    (hp : IsDist I p)
    (hw : InBox I l u w)
    (hcover : RefinedCovers cells)
    (hvalid : ∀ c ∈ cells, c.Valid)
    (hlo : ∀ c ∈ cells, c.lo - priceLine I p l u c.muLo c.lo + c.step * c.muLo ≤ T)
    (hhi : ∀ c ∈ cells, c.hi - priceLine I p l u c.muHi c.hi + c.step * c.muHi ≤ T) :
    tv I (tilt I p w) p ≤ T := by
  refine tv_le_of_gain hp hw fun x hx => ?_
  obtain ⟨s, h0, h1, hs⟩ := gain_le_price hp hw.pos hw.le hx
  obtain ⟨c, hc, hl, hr⟩ := hcover s h0 h1
  obtain ⟨mu, hmu⟩ := refined_cell (l := l) (u := u) hp (hvalid c hc) hl hr (hlo c hc) (hhi c hc)
  exact Std.le_trans (hs mu) hmu

example : tv tok (tilt tok half ext) half ≤ 11 / 12 := by
  refine tv_le_refined_cells (cells := [⟨0, 1, 1 / 3, 1 / 2, 1 / 4⟩]) half_isDist ext_inRatio.inBox
    (fun s h0 h1 => ⟨⟨0, 1, 1 / 3, 1 / 2, 1 / 4⟩, by simp, h0, h1⟩) ?_ ?_ ?_ <;>
  · intro c hc
    simp only [List.mem_singleton] at hc
    subst hc
    simp only [RefinedCell.Valid, priceLine, tok, half, rad, sumOver, if_true, Bool.false_eq_true, if_false]
    have h1 := posPart_cases ((1 / 3 : Rat) * ((1 - 0) * 2 + 0 * (2 : Rat)⁻¹) - 1)
    have h2 := posPart_cases ((1 / 3 : Rat) * ((1 - 0) * 3 + 0 * (3 : Rat)⁻¹) - 1)
    have h3 := posPart_cases ((1 / 2 : Rat) * ((1 - 1) * 2 + 1 * (2 : Rat)⁻¹) - 1)
    have h4 := posPart_cases ((1 / 2 : Rat) * ((1 - 1) * 3 + 1 * (3 : Rat)⁻¹) - 1)
    grind

end ProofKV
end

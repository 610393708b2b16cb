module

public import ProofKV.Lemmas.TVCells
public import ProofKV.Lemmas.Witness

/-! The dual cell certificate: any cells, any multipliers, any intervals. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Dual cell certificate**: take cells that cover the output masses from zero to one, each with any multiplier; if at
both ends of every cell the output mass minus the price line is at most `T`, then `T` bounds the total variation
distance. No optimality, sorting or square root is used. -/
theorem tv_le_cells {I : List ι} {p l u w : ι → α} {cells : List (Cell α)} {T : α}
    (hp : IsDist I p)
    (hw : InBox I l u w)
    (hcover : Covers cells)
    (hlo : ∀ c ∈ cells, c.lo - priceLine I p l u c.mu c.lo ≤ T)
    (hhi : ∀ c ∈ cells, c.hi - priceLine I p l u c.mu c.hi ≤ T) :
    tv I (tilt I p w) p ≤ T := by
  refine tv_le_of_gain hp hw fun x hx => ?_
  obtain ⟨s, h0, h1, hs⟩ := gain_le_price hp hw.pos hw.le hx
  obtain ⟨c, hc, hl, hr⟩ := hcover s h0 h1
  exact Std.le_trans (hs c.mu) (price_cell hp hl hr (hlo c hc) (hhi c hc))

example : tv tok (tilt tok half ext) half ≤ 1 := by
  refine tv_le_cells (cells := [⟨0, 1, 0⟩]) half_isDist ext_inRatio.inBox
    (fun s h0 h1 => ⟨⟨0, 1, 0⟩, by simp, h0, h1⟩) ?_ ?_ <;>
  · intro c hc
    simp only [List.mem_singleton] at hc
    subst hc
    have h := posPart_cases ((0 : Rat) - 1)
    simp only [priceLine, tok, half, sumOver, Semiring.zero_mul]
    grind

end ProofKV
end

module

public import ProofKV.Lemmas.TVBounds
public import ProofKV.Lemmas.Witness

/-! What rounding one fractional token of an optimal choice loses, exactly. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Rounding identity**: let `s = a / (a + b)` be stationary in the share of one token of mass `m` with interval `[l, u]`,
that is `u D - a (u - l) = D²` with `D = a + b`. Moving the share by `t` changes `s - P` by exactly
`-(t m)² (u - l) / D'`, with `D'` the denominator after the move. -/
theorem gain_rounding {a b P l u m t : α}
    (hD : 0 < a + b)
    (hD' : 0 < a + t * m * u + (b - t * m * l))
    (hstat : u * (a + b) - a * (u - l) = (a + b) * (a + b)) :
    a / (a + b) - P - ((a + t * m * u) / (a + t * m * u + (b - t * m * l)) - (P + t * m)) =
      t * m * (t * m) * (u - l) / (a + t * m * u + (b - t * m * l)) := by
  generalize hE : a + t * m * u + (b - t * m * l) = D' at *
  generalize hG : a + b = D at *
  have cancel : ∀ c x y : α, 0 < c → c * x = c * y → x = y := fun c x y hc h =>
    Std.le_antisymm (le_of_mul hc (h ▸ Std.le_refl _)) (le_of_mul hc (h ▸ Std.le_refl _))
  refine cancel D' _ _ hD' (cancel D _ _ hD ?_)
  have e1 : D * (D' * (a / D - P - ((a + t * m * u) / D' - (P + t * m)))) =
      a * D' - D * (a + t * m * u) + D * D' * (t * m) := by grind
  have e2 : D * (D' * (t * m * (t * m) * (u - l) / D')) = D * (t * m * (t * m) * (u - l)) := by
    rw [mul_div_self hD']
  rw [e1, e2, ← hE]
  have hb : b = D - a := by grind
  subst hb
  grind

example : (1 : Rat) / (1 + 1) - 0 - ((1 + 1 / 2 * 1 * 4) / (1 + 1 / 2 * 1 * 4 + (1 - 1 / 2 * 1 * 0)) - (0 + 1 / 2 * 1)) =
    1 / 2 * 1 * (1 / 2 * 1) * (4 - 0) / (1 + 1 / 2 * 1 * 4 + (1 - 1 / 2 * 1 * 0)) :=
  gain_rounding (by grind) (by grind) (by grind)

end ProofKV
end

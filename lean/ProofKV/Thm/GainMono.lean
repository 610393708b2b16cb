module

public import ProofKV.Lemmas.TVBounds
public import ProofKV.Lemmas.Witness

/-! Wider intervals never lower a gain: all bounds are monotone in the radii. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Monotone in the radii**: widening every interval of ratios can only raise the gain of every share, so ratio bounds
may be rounded up. -/
theorem gain_mono {I : List ι} {p l u l' u' x : ι → α}
    (hp : IsDist I p)
    (hx : IsShare I x)
    (hl' : ∀ i ∈ I, 0 < l' i)
    (hlow : ∀ i ∈ I, l' i ≤ l i)
    (hlu : ∀ i ∈ I, l i ≤ u i)
    (hup : ∀ i ∈ I, u i ≤ u' i) :
    gain I p l u x ≤ gain I p l' u' x := by
  have hl : ∀ i ∈ I, 0 < l i := fun i hi => by have := hl' i hi; have := hlow i hi; grind
  have hlu' : ∀ i ∈ I, l' i ≤ u' i := fun i hi => by
    have := hlow i hi; have := hlu i hi; have := hup i hi; grind
  have := odds_mono
    (share_nn hx fun i hi => mul_nn (hp.nonneg i hi) (by have := hl i hi; have := hlu i hi; grind : 0 ≤ u i))
    (rest_nn hx fun i hi => mul_nn (hp.nonneg i hi) (Std.le_of_lt (hl' i hi)))
    (share_le hx fun i hi => mul_le_left (hp.nonneg i hi) (hup i hi))
    (rest_le hx fun i hi => mul_le_left (hp.nonneg i hi) (hlow i hi))
    (gain_den_pos hp hl hlu hx) (gain_den_pos hp hl' hlu' hx)
  unfold gain
  grind

example : gain tok half (fun _ => 1) (fun _ => 1) half ≤ gain tok half (fun _ => 1 / 2) (fun _ => 2) half :=
  gain_mono half_isDist isShare_half (fun _ _ => by grind) (fun _ _ => by grind) (fun _ _ => by grind) (fun _ _ => by grind)

end ProofKV
end

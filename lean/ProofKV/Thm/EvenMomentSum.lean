module

public import ProofKV.Lemmas.Moments

/-! Bounds of even moments add over independent values. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Even moments of a sum**: if the odd moments of independent values vanish and their even moments are at most those
of Gaussians with variances `V`, the same holds for their sum with the sum of the `V`. No exponential is needed. -/
theorem subGaussian_sum :
    ∀ Ls : List (Law α × α),
      (∀ L ∈ Ls, L.1.SubGaussian L.2) →
      (Law.sum (Ls.map Prod.fst)).SubGaussian (sumOver Ls Prod.snd)
  | [], _ => Law.subGaussian_zero
  | L :: Ls, h => (h L (by simp)).add (subGaussian_sum Ls fun L' hL' => h L' (by simp [hL']))

example : (Law.sum [([(1 / 2, 1), (1 / 2, -1)] : Law Rat), [(1 / 2, 1), (1 / 2, -1)]]).SubGaussian (1 + (1 + 0)) :=
  subGaussian_sum [(([(1 / 2, 1), (1 / 2, -1)] : Law Rat), 1), ([(1 / 2, 1), (1 / 2, -1)], 1)] fun L hL => by
    have e : L = (([(1 / 2, 1), (1 / 2, -1)] : Law Rat), 1) := by simpa using hL
    subst e
    exact sign_subGaussian

end ProofKV
end

module

public import ProofKV.Thm.EvenMomentSum
public import ProofKV.Thm.Markov

/-! A tail bound for sums of independent values from even moments. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Even-moment tail bound**: for independent values with vanishing odd moments and even moments at most those of
Gaussians with variances `V`, the sum is at least `u > 0` in absolute value with probability at most
`(2 k - 1)!! (∑ V) ^ k / u ^ (2 k)`, for every `k`. -/
theorem prob_sum_ge_le_even_moment {Ls : List (Law α × α)} {u : α}
    (hLs : ∀ L ∈ Ls, L.1.SubGaussian L.2)
    (hu : 0 < u) (k : Nat) :
    prob (Law.sum (Ls.map Prod.fst)) Prod.fst (fun a => u ≤ absV a.2) ≤
      ofCount (oddFactorial k) * sumOver Ls Prod.snd ^ k / u ^ (2 * k) := by
  have h := subGaussian_sum Ls hLs
  have hm := prob_ge_le_mean_div (O := Law.sum (Ls.map Prod.fst)) (P := Prod.fst) (f := fun a => a.2 ^ (2 * k))
    (t := u ^ (2 * k)) h.nonneg (fun a _ => even_pow_nn a.2 k) (pow_ps hu (2 * k))
  refine Std.le_trans (prob_mono h.nonneg fun a _ ha => ?_)
    (Std.le_trans hm (div_le_div (pow_ps hu (2 * k)) (h.even k)))
  exact even_pow_le (Std.le_of_lt hu) ha k

example : prob (Law.sum [([(1 / 2, 1), (1 / 2, -1)] : Law Rat)]) Prod.fst (fun a => 2 ≤ absV a.2) ≤
    ofCount (oddFactorial 1) * (1 + 0) ^ 1 / 2 ^ (2 * 1) :=
  prob_sum_ge_le_even_moment (Ls := [(([(1 / 2, 1), (1 / 2, -1)] : Law Rat), 1)]) (fun L hL => by
    have e : L = (([(1 / 2, 1), (1 / 2, -1)] : Law Rat), 1) := by simpa using hL
    subst e
    exact sign_subGaussian) (by grind) 1

end ProofKV
end

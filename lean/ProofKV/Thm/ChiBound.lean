module

public import ProofKV.Lemmas.TVBounds
public import ProofKV.Lemmas.Witness

/-! The chi bound: a certificate for the second moment of the ratios. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Chi lemma**: if `K ≤ sum p (λ w - w²)` then `4 K sum p w² ≤ λ² (sum p w)²`. So for `K > 0` the second moment of the
normalised ratios is at most `λ² / (4 K)`. -/
theorem chi_sq_le {I : List ι} {p w : ι → α} {lam K : α}
    (hK : K ≤ sumOver I fun i => p i * (lam * w i - w i * w i))
    (hKpos : 0 ≤ K) :
    4 * K * (mean I p fun i => w i * w i) ≤ lam * lam * (mean I p w * mean I p w) := by
  have h1 : (sumOver I fun i => p i * (lam * w i - w i * w i)) = lam * mean I p w - mean I p fun i => w i * w i := by
    unfold mean
    rw [← sumOver_mul, ← sumOver_sub]
    exact sumOver_congr fun i _ => by grind
  rw [h1] at hK
  generalize (mean I p fun i => w i * w i) = E at *
  generalize mean I p w = Z at *
  have h2 := mul_le_left (c := 4 * K) (by grind) (a := E) (b := lam * Z - K) (by grind)
  have h3 := sq_nn (lam * Z - 2 * K)
  grind

example : 4 * (7 / 36) * (mean tok half fun i => ext i * ext i) ≤ (3 : Rat) * 3 * (mean tok half ext * mean tok half ext) := by
  refine chi_sq_le ?_ (by grind)
  simp only [tok, half, ext, sumOver, if_true, if_false, Bool.false_eq_true]
  grind

end ProofKV
end

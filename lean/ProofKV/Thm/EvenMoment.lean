module

public import ProofKV.Lemmas.Prob

/-! A tail bound from an even moment. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- Powers of non-negative values are non-negative. -/
theorem pow_nn {a : α} (ha : 0 ≤ a) : ∀ k : Nat, 0 ≤ a ^ k
  | 0 => by have := one_pos (α := α); rw [Semiring.pow_zero]; grind
  | k + 1 => by rw [Semiring.pow_succ]; exact mul_nn (pow_nn ha k) ha

/-- Powers are monotone on non-negative values. -/
theorem pow_le {a b : α} (ha : 0 ≤ a) (h : a ≤ b) : ∀ k : Nat, a ^ k ≤ b ^ k
  | 0 => by rw [Semiring.pow_zero, Semiring.pow_zero]; exact Std.le_refl _
  | k + 1 => by
    rw [Semiring.pow_succ, Semiring.pow_succ]
    exact mul_le_both (pow_nn ha k) (by grind) (pow_le ha h k) h

/-- **Even-moment tail**: the probability of `|x| ≥ t` times `t^(2k)` is at most the `2k`-th moment of `x`, with no exponential. -/
theorem even_moment_tail_le {I : List ι} {p f : ι → α} {t : α} (k : Nat)
    (hp : ∀ i ∈ I, 0 ≤ p i)
    (ht : 0 ≤ t) :
    (t * t) ^ k * prob I p (fun i => t ≤ absV (f i)) ≤ sumOver I fun i => p i * (f i * f i) ^ k := by
  unfold prob sumIf
  rw [← sumOver_mul]
  refine sumOver_le fun i hi => ?_
  have hm := pow_nn (sq_nn (f i)) k
  by_cases h : t ≤ absV (f i) <;> simp only [h, if_true, if_false]
  · have h1 : t * t ≤ f i * f i := by
      have h2 := mul_le_both ht (absV_nn (f i)) h h
      rcases absV_cases (f i) with ⟨_, e⟩ | ⟨_, e⟩ <;> rw [e] at h2 <;> grind
    have := mul_le_left (hp i hi) (pow_le (sq_nn t) h1 k)
    grind
  · have := mul_nn (hp i hi) hm; grind

example : ((2 : Rat) * 2) ^ 3 * prob [true, false] (fun _ => 1 / 2) (fun _ => 2 ≤ absV (3 : Rat)) ≤
    sumOver [true, false] fun _ => 1 / 2 * ((3 : Rat) * 3) ^ 3 := even_moment_tail_le (f := fun _ => 3) 3 (fun _ _ => by grind) (by grind)

end ProofKV
end

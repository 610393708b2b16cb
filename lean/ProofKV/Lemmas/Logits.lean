module

public import ProofKV.Base
public import ProofKV.Spec.Logits

/-! Lemmas on dot products. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A quadratic that is never negative has no positive discriminant: `b² ≤ a c`. -/
theorem sq_le_of_quadratic {a b c : α} (hc : 0 ≤ c) (h : ∀ t, 0 ≤ a - 2 * t * b + t * t * c) :
    b * b ≤ a * c := by
  have h0 := one_pos (α := α)
  by_cases e : c = 0
  · subst e
    by_cases hb : b = 0
    · subst hb; grind
    · exfalso
      have h1 := h ((a + 1) / (2 * b))
      have h2 : 2 * ((a + 1) / (2 * b)) * b = a + 1 := by grind
      grind
  · have hc' : 0 < c := by grind
    have h1 := mul_nn hc (h (b / c))
    have h2 : c * (a - 2 * (b / c) * b + b / c * (b / c) * c) = a * c - b * b := by grind
    grind

/-- **Cauchy–Schwarz** for lists. -/
theorem dot_sq_le (I : List ι) (a b : ι → α) : dot I a b * dot I a b ≤ dot I a a * dot I b b := by
  refine sq_le_of_quadratic (sumOver_nn fun i _ => sq_nn _) fun t => ?_
  have e : dot I a a - 2 * t * dot I a b + t * t * dot I b b = sumOver I fun i => (a i - t * b i) * (a i - t * b i) := by
    unfold dot
    rw [← sumOver_mul, ← sumOver_mul, ← sumOver_sub, ← sumOver_add]
    exact sumOver_congr fun i _ => by grind
  rw [e]
  exact sumOver_nn fun i _ => sq_nn _

/-- Cauchy–Schwarz with certified norms. -/
theorem absV_dot_le {I : List ι} {a b : ι → α} {na nb : α} (ha : 0 ≤ na) (hb : 0 ≤ nb) (h1 : dot I a a ≤ na * na)
    (h2 : dot I b b ≤ nb * nb) : absV (dot I a b) ≤ na * nb := by
  refine absV_le_of_sq (mul_nn ha hb) ?_
  have h3 := dot_sq_le I a b
  have h4 := mul_le_both (a := dot I a a) (b := na * na) (c := dot I b b) (d := nb * nb)
    (sumOver_nn fun i _ => sq_nn _) (sq_nn nb) h1 h2
  grind

/-- Dot products are additive on the left. -/
theorem dot_add_left (I : List ι) (a a' b : ι → α) : dot I (fun i => a i + a' i) b = dot I a b + dot I a' b := by
  unfold dot
  rw [← sumOver_add]
  exact sumOver_congr fun i _ => by grind

/-- Dot products are additive on the right. -/
theorem dot_add_right (I : List ι) (a b b' : ι → α) : dot I a (fun i => b i + b' i) = dot I a b + dot I a b' := by
  unfold dot
  rw [← sumOver_add]
  exact sumOver_congr fun i _ => by grind

end ProofKV
end

module

public import ProofKV.Thm.RmsNorm

/-! The error of RMSNorm from numbers that can be certified without exact roots. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A vector within `e` of a vector of norm at least `b ≥ e` has norm at least `b - e`, by squares. -/
theorem dot_self_ge {I : List ι} {x y : ι → α} {b e : α}
    (hbe : e ≤ b) (he0 : 0 ≤ e) (hb : b * b ≤ dot I y y)
    (he : dot I (fun i => x i - y i) (fun i => x i - y i) ≤ e * e) : (b - e) * (b - e) ≤ dot I x x := by
  have e1 : dot I y y = dot I x x - 2 * dot I x (fun i => x i - y i) + dot I (fun i => x i - y i) (fun i => x i - y i) := by
    unfold dot
    rw [← sumOver_mul, ← sumOver_sub, ← sumOver_add]
    exact sumOver_congr fun i _ => by grind
  have hc := dot_sq_le I x fun i => x i - y i
  have hX : 0 ≤ dot I x x := sumOver_nn fun i _ => sq_nn _
  have hD : 0 ≤ dot I (fun i => x i - y i) (fun i => x i - y i) := sumOver_nn fun i _ => sq_nn _
  refine Classical.byContradiction fun hn => ?_
  have h1 : dot I x x ≤ (b - e) * (b - e) := by grind
  have h2 := mul_le_both hX (mul_nn he0 he0) h1 he
  have h3 := (absV_le.mp (absV_le_of_sq (a := dot I x fun i => x i - y i) (b := (b - e) * e)
    (mul_nn (by grind) he0) (by grind))).1
  grind

/-- **RMSNorm error with certified roots**: let `y` be the computed vector, `x` the exact one with `|x - y| ≤ e`, and
`r`, `s` their root mean squares. From a lower bound `b` of `|y|`, a lower bound `sLow` of `s` and a number `rMin` with
`n rMin² ≤ (b - e)₊² + n ε`, the normalised vectors differ by at most `2 e / (sLow + rMin)` in norm; stated by squares.
`b`, `sLow` and `rMin` are checked by squaring, no root is taken. -/
theorem rms_norm_error_le_certified {I : List ι} {x y : ι → α} {n ε r s sLow rMin b e : α}
    (hn : 0 < n)
    (hε : 0 ≤ ε)
    (hr : 0 < r)
    (hs : 0 < s)
    (hrx : n * (r * r) = dot I x x + n * ε)
    (hsy : n * (s * s) = dot I y y + n * ε)
    (he0 : 0 ≤ e)
    (he : dot I (fun i => x i - y i) (fun i => x i - y i) ≤ e * e)
    (hb : b * b ≤ dot I y y)
    (hsLow : 0 ≤ sLow ∧ n * (sLow * sLow) ≤ dot I y y + n * ε)
    (hrMin : 0 ≤ rMin ∧ n * (rMin * rMin) ≤ posPart (b - e) * posPart (b - e) + n * ε) :
    (sLow + rMin) * (sLow + rMin) * dot I (fun i => x i / r - y i / s) (fun i => x i / r - y i / s) ≤
      2 * e * (2 * e) := by
  have hX : 0 ≤ dot I x x := sumOver_nn fun i _ => sq_nn _
  have h1 : posPart (b - e) * posPart (b - e) ≤ dot I x x := by
    rcases (posPart_cases (b - e)).2.2 with h | h
    · have h2 := (posPart_cases (b - e)).1
      rw [h] at h2 ⊢
      exact dot_self_ge (by grind) he0 hb he
    · rw [h]; grind
  have h2 : rMin ≤ r := le_of_sq_le (Std.le_of_lt hr) (le_of_mul hn (by grind))
  have h3 : sLow ≤ s := le_of_sq_le (Std.le_of_lt hs) (le_of_mul hn (by grind))
  have h4 := rms_norm_error_le hn hε hr hs hrx hsy h2 hrMin.1 he
  have h5 : 0 ≤ dot I (fun i => x i / r - y i / s) (fun i => x i / r - y i / s) := sumOver_nn fun i _ => sq_nn _
  have h6 := mul_le_right h5 (mul_le_both (a := sLow + rMin) (b := s + rMin) (c := sLow + rMin) (d := s + rMin)
    (by grind) (by grind) (by grind) (by grind))
  exact Std.le_trans h6 h4

example : (1 / 2 + 0) * (1 / 2 + 0) * dot [()] (fun _ => (2 : Rat) / 2 - 1 / 1) (fun _ => 2 / 2 - 1 / 1) ≤
    2 * 1 * (2 * 1) := by
  refine rms_norm_error_le_certified (x := fun _ => 2) (y := fun _ => 1) (n := 1) (ε := 0) (b := 1) (by grind)
    (by grind) (by grind) (by grind) ?_ ?_ (by grind) ?_ ?_ ⟨by grind, ?_⟩ ⟨by grind, ?_⟩
  · simp only [dot, sumOver]; grind
  · simp only [dot, sumOver]; grind
  · simp only [dot, sumOver]; grind
  · simp only [dot, sumOver]; grind
  · simp only [dot, sumOver]; grind
  · have := sq_nn (posPart ((1 : Rat) - 1)); grind

end ProofKV
end

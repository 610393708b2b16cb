module

public import ProofKV.Lemmas.Logits

/-! The error of RMSNorm. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- Quotients multiply. -/
theorem div_mul_div {a b c d : α} (hb : 0 < b) (hd : 0 < d) : a / b * (c / d) = a * c / (b * d) := by
  have hbd := mul_ps hb hd
  have h1 := mul_div_self (a := a) hb
  have h2 := mul_div_self (a := c) hd
  have h3 := mul_div_self (a := a * c) hbd
  have h4 : b * d * (a / b * (c / d)) = b * d * (a * c / (b * d)) := by
    rw [h3]
    generalize a / b = u at *
    generalize c / d = v at *
    subst h1 h2
    grind
  exact Std.le_antisymm (le_of_mul hbd (h4 ▸ Std.le_refl _)) (le_of_mul hbd (h4 ▸ Std.le_refl _))

/-- The scaled quotients of the bound, without quotients. -/
theorem rms_scale {X Y D r s u v t : α} (hu : r * r * u = X) (hv : s * s * v = Y) (ht : r * s * t = D) :
    r * s * (r * s) * ((r + s) * (r + s) * (u + v - 2 * t)) = (r + s) * (r + s) * (X * (s * s) + Y * (r * r) - 2 * D * (r * s)) := by
  subst hu hv ht
  grind

/-- The part of the bound that is free of roots: for planes with squared norms `X`, `Y`, dot product `D` and
`r² n = X + c`, `s² n = Y + c`. -/
theorem rms_core {X Y D c n r s : α} (hc : 0 ≤ c) (hn : 0 < n) (hr : 0 < r) (hs : 0 < s) (hX : n * (r * r) = X + c)
    (hY : n * (s * s) = Y + c)
    (hD : D * D ≤ X * Y) (hX0 : 0 ≤ X) (hY0 : 0 ≤ Y) (hDXY : 2 * D ≤ X + Y) (hDXY' : -(X + Y) ≤ 2 * D) :
    (r + s) * (r + s) * (X / (r * r) + Y / (s * s) - 2 * (D / (r * s))) ≤ 4 * (X + Y - 2 * D) := by
  have h0 := one_pos (α := α)
  have hrs := mul_ps hr hs
  have hrr := mul_ps hr hr
  have hss := mul_ps hs hs
  -- Cauchy–Schwarz for the vectors extended by one coordinate.
  have hM : (D + c) * (D + c) ≤ n * (r * s) * (n * (r * s)) := by
    have e : n * (r * s) * (n * (r * s)) = (X + c) * (Y + c) := by rw [← hX, ← hY]; grind
    rw [e]
    have := mul_le_left hc hDXY
    grind
  have hM' := absV_le.mp (absV_le_of_sq (Std.le_of_lt (mul_ps hn hrs)) hM)
  have hd2 := sq_nn (r - s)
  have key := mul_nn hd2 (b := n * (r * s) + (D + c)) (by grind)
  have hcr := mul_nn hc hd2
  refine le_of_mul (mul_ps hrs hrs) ?_
  have e1 : r * s * (r * s) * ((r + s) * (r + s) * (X / (r * r) + Y / (s * s) - 2 * (D / (r * s)))) =
      (r + s) * (r + s) * (X * (s * s) + Y * (r * r) - 2 * D * (r * s)) :=
    rms_scale (mul_div_self hrr) (mul_div_self hss) (mul_div_self hrs)
  rw [e1]
  have eX : X = n * (r * r) - c := by grind
  have eY : Y = n * (s * s) - c := by grind
  have k1 := mul_nn (Std.le_of_lt hrs) key
  have k2 := mul_nn (sq_nn (r + s)) hcr
  subst eX
  subst eY
  grind

/-- **RMSNorm error**: with `r` and `s` the root mean squares of `x` and `y` (`n r² = |x|² + n ε`, as RMSNorm defines them),
a lower bound `rmin` of `r`, and `|x - y|² ≤ e²`, the normalised vectors differ by at most `2 e / (s + rmin)` in norm; stated by squares. -/
theorem rms_norm_error_le {I : List ι} {x y : ι → α} {n ε r s rmin e : α}
    (hn : 0 < n)
    (hε : 0 ≤ ε)
    (hr : 0 < r)
    (hs : 0 < s)
    (hrx : n * (r * r) = dot I x x + n * ε)
    (hsy : n * (s * s) = dot I y y + n * ε)
    (hrmin : rmin ≤ r)
    (hmin0 : 0 ≤ rmin)
    (he : dot I (fun i => x i - y i) (fun i => x i - y i) ≤ e * e) :
    (s + rmin) * (s + rmin) * dot I (fun i => x i / r - y i / s) (fun i => x i / r - y i / s) ≤ 2 * e * (2 * e) := by
  have h0 := one_pos (α := α)
  have hrs := mul_ps hr hs
  have hrr := mul_ps hr hr
  have hss := mul_ps hs hs
  have e1 : dot I (fun i => x i / r - y i / s) (fun i => x i / r - y i / s) =
      dot I x x / (r * r) + dot I y y / (s * s) - 2 * (dot I x y / (r * s)) := by
    unfold dot
    rw [← sumOver_div, ← sumOver_div, ← sumOver_div, ← sumOver_add, ← sumOver_mul, ← sumOver_sub]
    exact sumOver_congr fun i _ => by rw [← div_mul_div hr hr, ← div_mul_div hs hs, ← div_mul_div hr hs]; grind
  have e2 : dot I (fun i => x i - y i) (fun i => x i - y i) = dot I x x + dot I y y - 2 * dot I x y := by
    unfold dot
    rw [← sumOver_add, ← sumOver_mul, ← sumOver_sub]
    exact sumOver_congr fun i _ => by grind
  have hsum : dot I (fun i => x i + y i) (fun i => x i + y i) = dot I x x + dot I y y + 2 * dot I x y := by
    unfold dot
    rw [← sumOver_mul, ← sumOver_add, ← sumOver_add]
    exact sumOver_congr fun i _ => by grind
  have nn : ∀ a : ι → α, 0 ≤ dot I a a := fun a => sumOver_nn fun i _ => sq_nn _
  have d1 := nn fun i => x i - y i
  have d2 := nn fun i => x i + y i
  have dz := nn fun i => x i / r - y i / s
  have core := rms_core (mul_nn (Std.le_of_lt hn) hε) hn hr hs hrx hsy (dot_sq_le I x y) (nn x) (nn y) (by grind) (by grind)
  rw [← e1, ← e2] at core
  generalize dot I (fun i => x i / r - y i / s) (fun i => x i / r - y i / s) = Z at *
  have m := mul_le_right dz (mul_le_both (a := s + rmin) (b := r + s) (c := s + rmin) (d := r + s)
    (by grind) (by grind) (by grind) (by grind))
  grind

example : (1 + 1) * (1 + 1) * dot [()] (fun _ => (2 : Rat) / 2 - 1 / 1) (fun _ => 2 / 2 - 1 / 1) ≤ 2 * 1 * (2 * 1) := by
  refine rms_norm_error_le (x := fun _ => 2) (y := fun _ => 1) (n := 1) (ε := 0) (rmin := 1)
    (by grind) (by grind) (by grind) (by grind) ?_ ?_
    (by grind) (by grind) ?_ <;> simp only [dot, sumOver] <;> grind

end ProofKV
end

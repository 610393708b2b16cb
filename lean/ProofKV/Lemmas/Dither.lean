module

public import ProofKV.Lemmas.Moments
public import ProofKV.Spec.Dither

/-! Moments of the dither residue. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The Cauchy product is linear in its first sequence. -/
theorem cauchy_sub (g : Nat → α) : ∀ (n : Nat) (f f' : Nat → α),
    cauchy (fun j => f j - f' j) g n = cauchy f g n - cauchy f' g n
  | 0, f, f' => by simp only [cauchy]; grind
  | n + 1, f, f' => by
    have h := cauchy_sub g n (fun j => f (j + 1)) fun j => f' (j + 1)
    simp only [cauchy]; grind

/-- The first term of a Cauchy product of non-negative sequences. -/
theorem first_le_cauchy {g : Nat → α} (hg : ∀ j, 0 ≤ g j) : ∀ (n : Nat) {f : Nat → α}, (∀ j, 0 ≤ f j) →
    f 0 * g n ≤ cauchy f g n ∧ 0 ≤ cauchy f g n
  | 0, f, hf => ⟨Std.le_refl _, mul_nn (hf 0) (hg 0)⟩
  | n + 1, f, hf => by
    have h := (first_le_cauchy hg n (f := fun j => f (j + 1)) fun j => hf (j + 1)).2
    have h1 := mul_nn (hf 0) (hg (n + 1))
    simp only [cauchy]
    constructor <;> grind

/-- Even divided powers are non-negative. -/
theorem dpow_even_nn (x : α) (k : Nat) : 0 ≤ dpow (2 * k) x := by
  have h := even_pow_nn x k
  rw [pow_eq_dpow] at h
  exact nn_of_mul (fac_ps _) h

/-- Divided powers of a non-negative value are non-negative. -/
theorem dpow_nn {x : α} (hx : 0 ≤ x) : ∀ n : Nat, 0 ≤ dpow n x
  | 0 => by have := one_pos (α := α); simp only [dpow]; grind
  | n + 1 => by
    have h := mul_nn (dpow_nn hx n) hx
    simp only [dpow]
    exact div_nn h (ofCount_ps (by omega))

/-- Divided powers of a negative. -/
theorem dpow_neg (x : α) (k : Nat) : dpow (2 * k) (-x) = dpow (2 * k) x ∧ dpow (2 * k + 1) (-x) = - dpow (2 * k + 1) x := by
  have e : -x = (-1 : α) * x := by grind
  constructor
  · rw [e, dpow_mul, neg_one_pow]; grind
  · rw [e, dpow_mul, Semiring.pow_succ, neg_one_pow]; grind

/-- A step of an odd divided power is at least its middle slope. -/
theorem dpow_step_ge {h : α} (hh : 0 ≤ h) (x : α) (k : Nat) :
    2 * h * dpow (2 * k) x ≤ dpow (2 * k + 1) (h + x) - dpow (2 * k + 1) (-h + x) := by
  have h0 := one_pos (α := α)
  rw [dpow_add, dpow_add, ← cauchy_sub]
  have e0 : dpow 0 h - dpow 0 (-h) = 0 := by simp only [dpow]; grind
  have e1 : dpow (0 + 1) h - dpow (0 + 1) (-h) = 2 * h := by simp only [dpow, ofCount]; grind
  have e2 : ∀ j, dpow (2 * j + 1 + 1) h - dpow (2 * j + 1 + 1) (-h) = 0 := fun j => by
    have := (dpow_neg h (j + 1)).1
    rw [show 2 * (j + 1) = 2 * j + 1 + 1 by omega] at this
    rw [this]; grind
  have e3 : cauchy (fun j => dpow j h - dpow j (-h)) (fun j => dpow j x) (2 * k + 1) =
      cauchy (fun j => dpow (2 * j + 1) h - dpow (2 * j + 1) (-h)) (fun j => dpow (2 * j) x) k := by
    rw [cauchy, cauchy_even _ k e2, e0]
    grind
  rw [e3]
  have h1 := (first_le_cauchy (g := fun j => dpow (2 * j) x) (fun j => dpow_even_nn x j) k
    (f := fun j => dpow (2 * j + 1) h - dpow (2 * j + 1) (-h)) fun j => by
      have h1 := (dpow_neg h j).2
      have h2 := dpow_nn hh (2 * j + 1)
      simp only [h1]; grind).1
  simp only [Nat.mul_zero] at h1
  rw [e1] at h1
  exact h1

/-- The last term of a sum over a range. -/
theorem sumOver_range_succ (f : Nat → α) (n : Nat) :
    sumOver (List.range (n + 1)) f = sumOver (List.range n) f + f n := by
  rw [List.range_succ, sumOver_append]
  simp only [sumOver]; grind

/-- The first term of a sum over a range. -/
theorem sumOver_range_head (f : Nat → α) (n : Nat) :
    sumOver (List.range (n + 1)) f = f 0 + sumOver (List.range n) fun j => f (j + 1) := by
  rw [List.range_succ_eq_map]
  simp only [sumOver, sumOver_map]

/-- A sum over a range read backwards. -/
theorem sumOver_range_reverse : ∀ (n : Nat) (f : Nat → α),
    sumOver (List.range n) f = sumOver (List.range n) fun j => f (n - 1 - j)
  | 0, _ => rfl
  | n + 1, f => by
    have h := sumOver_range_reverse n f
    rw [sumOver_range_succ, sumOver_range_head, h]
    have e : (fun j => f (n + 1 - 1 - (j + 1))) = fun j => f (n - 1 - j) := by
      funext j; congr 1; omega
    rw [e]
    simp only [Nat.add_sub_cancel, Nat.sub_zero]
    grind

/-- A telescoping sum. -/
theorem sumOver_telescope (f : Nat → α) : ∀ n : Nat, (sumOver (List.range n) fun j => f (j + 1) - f j) = f n - f 0
  | 0 => by simp only [List.range_zero, sumOver]; grind
  | n + 1 => by rw [sumOver_range_succ, sumOver_telescope f n]; grind

/-- The continuous uniform law has smaller even moments than the Gaussian law of the same variance. -/
theorem dpow_half_le : ∀ k : Nat, 2 * dpow (2 * k + 1) (1 / 2 : α) ≤ dpow k (1 / 12 / 2)
  | 0 => by have := one_pos (α := α); simp only [dpow, ofCount]; grind
  | k + 1 => by
    have h0 := one_pos (α := α)
    have h : 2 * dpow (2 * k + 1) (1 / 2 : α) ≤ dpow k (1 / 12 / 2) := dpow_half_le k
    have h1 : 0 ≤ dpow k (1 / 12 / 2 : α) := dpow_nn (by grind) k
    have hk : (0 : α) ≤ ofCount k := ofCount_nn k
    have e : (ofCount (2 * k) : α) = 2 * ofCount k := by
      rw [ofCount_mul]; simp only [ofCount]; grind
    rw [show 2 * (k + 1) + 1 = 2 * k + 1 + 1 + 1 by omega]
    have h2 := dpow_succ (2 * k + 1) (1 / 2 : α)
    have h3 := dpow_succ (2 * k + 1 + 1) (1 / 2 : α)
    have h4 := dpow_succ k (1 / 12 / 2 : α)
    simp only [ofCount, e] at h2 h3 h4
    generalize dpow (2 * k + 1) (1 / 2 : α) = a at *
    generalize dpow (2 * k + 1 + 1) (1 / 2 : α) = b at *
    generalize dpow (2 * k + 1 + 1 + 1) (1 / 2 : α) = c at *
    generalize dpow k (1 / 12 / 2 : α) = d at *
    generalize dpow (k + 1) (1 / 12 / 2 : α) = e' at *
    generalize (ofCount k : α) = m at *
    have h5 : (m + 1) * (8 * (2 * m + 3) * (2 * c)) = 2 * a := by grind
    have h6 : 24 * ((m + 1) * e') = d := by grind
    have h7 : (m + 1) * (8 * (2 * m + 3) * (2 * c)) ≤ (m + 1) * (24 * e') := by grind
    have h8 := le_of_mul (by grind) h7
    have h9 : 0 ≤ e' := nn_of_mul (c := 24 * (m + 1)) (by grind) (by grind)
    have h10 := mul_nn hk h9
    have h11 : (8 * (2 * m + 3)) * (2 * c) ≤ (8 * (2 * m + 3)) * e' := by grind
    exact le_of_mul (by grind) h11

/-- The value of a residue read backwards is its negative. -/
theorem dither_reverse {N j : Nat} (hj : j < N) :
    (2 * ofCount (N - 1 - j) + 1 - ofCount N) / (2 * ofCount N) =
      -((2 * ofCount j + 1 - ofCount N) / (2 * ofCount N) : α) := by
  have hN := ofCount_ps (α := α) (n := N) (by omega)
  have e : (ofCount N : α) = ofCount (N - 1 - j) + ofCount j + 1 := by
    have h : N = N - 1 - j + j + 1 := by omega
    have h1 : (ofCount (N - 1 - j + j) : α) = ofCount (N - 1 - j) + ofCount j := ofCount_add _ _
    have h2 : (ofCount N : α) = ofCount (N - 1 - j + j + 1) := congrArg ofCount h
    rw [h2]
    simp only [ofCount, h1]
  generalize (ofCount N : α) = n at *
  generalize (ofCount (N - 1 - j) : α) = a at *
  generalize (ofCount j : α) = b at *
  grind

/-- A mean under the dither law. -/
theorem ditherLaw_mean (N : Nat) (g : α → α) : (ditherLaw N).mean g =
    sumOver (List.range N) fun j => 1 / ofCount N * g ((2 * ofCount j + 1 - ofCount N) / (2 * ofCount N)) := by
  unfold Law.mean ditherLaw
  rw [sumOver_map]

/-- The dither residue has Gaussian moments of variance `1 / 12`. -/
theorem ditherLaw_subGaussian {N : Nat} (hN : 0 < N) : (ditherLaw N : Law α).SubGaussian (1 / 12) := by
  have h0 := one_pos (α := α)
  have hn := ofCount_ps (α := α) hN
  constructor
  · intro a ha
    simp only [ditherLaw, List.mem_map] at ha
    obtain ⟨j, _, rfl⟩ := ha
    exact Std.le_of_lt (div_ps h0 hn)
  · rw [ditherLaw_mean, sumOver_const, List.length_range]
    generalize (ofCount N : α) = n at *
    grind
  · intro k
    rw [Law.moment_eq, ditherLaw_mean]
    have h1 := sumOver_range_reverse N fun j =>
      1 / ofCount N * dpow (2 * k + 1) ((2 * ofCount j + 1 - ofCount N) / (2 * ofCount N) : α)
    have h2 : (sumOver (List.range N) fun j =>
        1 / ofCount N * dpow (2 * k + 1) ((2 * ofCount (N - 1 - j) + 1 - ofCount N) / (2 * ofCount N) : α)) =
        - sumOver (List.range N) fun j =>
          1 / ofCount N * dpow (2 * k + 1) ((2 * ofCount j + 1 - ofCount N) / (2 * ofCount N) : α) := by
      rw [← sumOver_neg]
      refine sumOver_congr fun j hj => ?_
      rw [dither_reverse (List.mem_range.mp hj), (dpow_neg _ k).2]
      grind
    rw [h2] at h1
    have h3 : ∀ S : α, S = -S → S = 0 := fun S h => by grind
    rw [h3 _ h1]
    grind
  · intro k
    rw [Law.moment_eq, even_moment_iff, ditherLaw_mean]
    refine Std.le_trans ?_ (dpow_half_le k)
    have h1 : (sumOver (List.range N) fun j =>
        1 / ofCount N * dpow (2 * k) ((2 * ofCount j + 1 - ofCount N) / (2 * ofCount N) : α)) ≤
        sumOver (List.range N) fun j =>
          dpow (2 * k + 1) ((2 * ofCount (j + 1) - ofCount N) / (2 * ofCount N) : α) -
            dpow (2 * k + 1) ((2 * ofCount j - ofCount N) / (2 * ofCount N) : α) := by
      refine sumOver_le fun j _ => ?_
      have h2 := dpow_step_ge (h := (1 / (2 * ofCount N) : α)) (Std.le_of_lt (div_ps h0 (by grind)))
        ((2 * ofCount j + 1 - ofCount N) / (2 * ofCount N)) k
      have e1 : (1 / (2 * ofCount N) + (2 * ofCount j + 1 - ofCount N) / (2 * ofCount N) : α) =
          (2 * ofCount (j + 1) - ofCount N) / (2 * ofCount N) := by
        simp only [ofCount]; grind
      have e2 : (-(1 / (2 * ofCount N)) + (2 * ofCount j + 1 - ofCount N) / (2 * ofCount N) : α) =
          (2 * ofCount j - ofCount N) / (2 * ofCount N) := by grind
      have e3 : (2 * (1 / (2 * ofCount N)) : α) = 1 / ofCount N := by grind
      rw [e1, e2, e3] at h2
      exact h2
    rw [sumOver_telescope fun j => dpow (2 * k + 1) ((2 * ofCount j - ofCount N) / (2 * ofCount N) : α)] at h1
    have e4 : ((2 * ofCount N - ofCount N) / (2 * ofCount N) : α) = 1 / 2 := by grind
    have e5 : ((2 * ofCount 0 - ofCount N) / (2 * ofCount N) : α) = -(1 / 2) := by simp only [ofCount]; grind
    rw [e4, e5, (dpow_neg _ k).2] at h1
    grind

/-- An even power is a power of the square. -/
theorem pow_two_mul (c : α) : ∀ k : Nat, c ^ (2 * k) = (c * c) ^ k
  | 0 => by grind
  | k + 1 => by
    rw [show 2 * (k + 1) = 2 * k + 1 + 1 by omega]
    simp only [Semiring.pow_succ, pow_two_mul c k]
    grind

/-- Scaling a law scales the variance by the square. -/
theorem Law.SubGaussian.scale {L : Law α} {V : α} (h : L.SubGaussian V) (c : α) :
    (L.scale c).SubGaussian (c * c * V) := by
  have hm : ∀ g : α → α, (L.scale c).mean g = L.mean fun x => g (c * x) := fun g => by
    unfold Law.mean Law.scale
    rw [sumOver_map]
  constructor
  · intro a ha
    simp only [Law.scale, List.mem_map] at ha
    obtain ⟨b, hb, rfl⟩ := ha
    exact h.nonneg b hb
  · rw [hm]; exact h.total
  · intro k
    have h1 := h.odd k
    rw [Law.moment_eq, hm]
    rw [Law.moment_eq] at h1
    simp only [dpow_mul]
    rw [Law.mean_mul]
    have := fac_ps (α := α) (2 * k + 1)
    grind
  · intro k
    have h1 := h.even k
    rw [Law.moment_eq, even_moment_iff] at h1
    rw [Law.moment_eq, even_moment_iff, hm]
    simp only [dpow_mul]
    rw [Law.mean_mul]
    have e : c * c * V / 2 = (c * c) * (V / 2) := by have := one_pos (α := α); grind
    have e2 : c ^ (2 * k) = (c * c) ^ k := pow_two_mul c k
    rw [e, dpow_mul, e2]
    exact mul_le_left (by rw [← e2]; exact even_pow_nn c k) h1

end ProofKV
end

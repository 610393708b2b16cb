module

public import ProofKV.Base
public import ProofKV.Spec.Quant

/-! Lemmas on rounding. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- Rounding is within half a unit. -/
theorem rnd_le (x : Rat) : (rnd x : Rat) ≤ x + 1 / 2 := Rat.floor_le _

/-- Rounding is within half a unit, from below. -/
theorem lt_rnd (x : Rat) : x - 1 / 2 < (rnd x : Rat) := by
  have := Rat.lt_floor_add_one (x + 1 / 2)
  unfold rnd
  grind

/-- A clipped code that is already in range is unchanged. -/
theorem clipInt_eq {lo hi n : Int} (h1 : lo ≤ n) (h2 : n ≤ hi) : clipInt lo hi n = n := by
  unfold clipInt
  omega

/-- Rounding keeps integer lower ends. -/
theorem le_rnd {lo : Int} {x : Rat} (h : (lo : Rat) ≤ x) : lo ≤ rnd x := by
  unfold rnd
  rw [Rat.le_floor_iff]
  grind

/-- Rounding keeps integer upper ends. -/
theorem rnd_le_int {hi : Int} {x : Rat} (h : x ≤ (hi : Rat)) : rnd x ≤ hi := by
  unfold rnd
  have : (x + 1 / 2).floor < hi + 1 := by
    rw [Rat.floor_lt_iff, Rat.intCast_add]
    have : ((1 : Int) : Rat) = 1 := rfl
    rw [this]
    grind
  omega

/-- A step times a code near `x / s` is near `x`. -/
theorem step_err {s x c : Rat} (hs : 0 < s) (h1 : c ≤ x / s + 1 / 2) (h2 : x / s - 1 / 2 ≤ c) : absV (x - s * c) ≤ s / 2 := by
  have h3 := mul_le_left (Std.le_of_lt hs) h1
  have h4 := mul_le_left (Std.le_of_lt hs) h2
  have h5 : s * (x / s + 1 / 2) = x + s / 2 := by grind
  have h6 : s * (x / s - 1 / 2) = x - s / 2 := by grind
  exact absV_le.mpr (by grind)

/-- The integer sum behind unbiased dither. -/
theorem hermiteSum_add (n : Nat) (hn : 0 < n) (m : Int) : ∀ t, hermiteSum n (m + n) t = hermiteSum n m t + t
  | 0 => rfl
  | t + 1 => by
    have h := hermiteSum_add n hn m t
    have h1 : (m + n + t) / (n : Int) = (m + t) / n + 1 := by
      rw [show m + (n : Int) + t = (m + t) + n by omega, Int.add_ediv_of_dvd_right (Int.dvd_refl _), Int.ediv_self (by omega)]
    simp only [hermiteSum, h, h1]
    omega

/-- Shifting the start by one moves the sum by one. -/
theorem hermiteSum_succ (n : Nat) (m : Int) : ∀ t, hermiteSum n (m + 1) t + m / n = hermiteSum n m t + (m + t) / n
  | 0 => by simp [hermiteSum]
  | t + 1 => by
    have h := hermiteSum_succ n m t
    have h1 : m + 1 + (t : Int) = m + (t + 1 : Nat) := by omega
    simp only [hermiteSum, h1]
    omega

/-- Hermite's identity over the integers, for a non-negative start. -/
theorem hermiteSum_nonneg {n : Nat} (hn : 0 < n) : ∀ k : Nat, hermiteSum n k n = k
  | 0 => by
    have : ∀ t : Nat, t ≤ n → hermiteSum n ((0 : Nat) : Int) t = 0 := by
      intro t
      induction t with
      | zero => intro _; rfl
      | succ t ih =>
        intro ht
        have h := ih (by omega)
        have h2 : (((0 : Nat) : Int) + t) / (n : Int) = 0 := by
          apply Int.ediv_eq_zero_of_lt <;> omega
        simp only [hermiteSum, h, h2]
        omega
    exact this n (Nat.le_refl n)
  | k + 1 => by
    have h := hermiteSum_nonneg hn k
    have h1 := hermiteSum_succ n (k : Int) n
    have h2 : ((k : Int) + n) / (n : Int) = k / n + 1 := by
      rw [Int.add_ediv_of_dvd_right (Int.dvd_refl _), Int.ediv_self (by omega)]
    have h3 : (((k + 1 : Nat)) : Int) = (k : Int) + 1 := by omega
    rw [h3]
    omega

/-- **Hermite's identity** over the integers. -/
theorem hermiteSum_eq {n : Nat} (hn : 0 < n) (m : Int) : hermiteSum n m n = m := by
  have key : ∀ (j : Nat) (m : Int), hermiteSum n (m + j * n) n = hermiteSum n m n + j * n := by
    intro j
    induction j with
    | zero => intro m; simp
    | succ j ih =>
      intro m
      have h1 := ih m
      have h2 := hermiteSum_add n hn (m + j * n) n
      have h3 : m + ((j + 1 : Nat) : Int) * n = m + j * n + n := by
        rw [show ((j + 1 : Nat) : Int) = (j : Int) + 1 by omega, Int.add_mul]; omega
      have h4 : ((j + 1 : Nat) : Int) * n = j * n + n := by
        rw [show ((j + 1 : Nat) : Int) = (j : Int) + 1 by omega, Int.add_mul]; omega
      rw [h3, h2, h1, h4]
      omega
  have h1 := key m.natAbs m
  have h2 : 0 ≤ m + (m.natAbs : Int) * n := by
    have : (m.natAbs : Int) ≤ (m.natAbs : Int) * n := by
      have := Int.mul_le_mul_of_nonneg_left (a := 1) (b := (n : Int)) (c := m.natAbs) (by omega) (by omega)
      omega
    omega
  have h3 := hermiteSum_nonneg hn (m + (m.natAbs : Int) * n).toNat
  rw [Int.toNat_of_nonneg h2] at h3
  omega

/-- Rounding down a quotient in two steps. -/
theorem floor_div_nat {n : Nat} (hn : 0 < n) (z : Rat) : (z / (n : Rat)).floor = z.floor / (n : Int) := by
  have hn' : (0 : Rat) < (n : Rat) := by exact_mod_cast hn
  have hni : (0 : Int) < (n : Int) := by omega
  have key : ∀ q : Int, q ≤ (z / (n : Rat)).floor ↔ q ≤ z.floor / (n : Int) := by
    intro q
    rw [Rat.le_floor_iff, Int.le_ediv_iff_mul_le hni, Rat.le_floor_iff, Rat.intCast_mul]
    have e : ((n : Int) : Rat) = (n : Rat) := by exact_mod_cast rfl
    rw [e]
    constructor
    · intro h
      have := mul_le_right (Std.le_of_lt hn') h
      have e2 : z / (n : Rat) * (n : Rat) = z := by grind
      grind
    · intro h
      exact le_div hn' h
  have h1 := (key _).mp (Int.le_refl _)
  have h2 := (key _).mpr (Int.le_refl _)
  omega

end ProofKV
end

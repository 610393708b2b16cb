module

public import ProofKV.Lemmas.Dither
public import ProofKV.Spec.Quant

/-! The residue of subtractive dither on the grid has the dither law. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A count as a rational number. -/
theorem ofCount_eq_cast : ∀ n : Nat, (ofCount n : Rat) = (n : Rat)
  | 0 => by simp only [ofCount]; grind
  | n + 1 => by simp only [ofCount, ofCount_eq_cast n]; grind

/-- A sum over all residues does not depend on where the count starts. -/
theorem sumOver_mod {N : Nat} (hN : 0 < N) (f : Nat → α) : ∀ a : Nat,
    (sumOver (List.range N) fun k => f ((a + k) % N)) = sumOver (List.range N) f
  | 0 => sumOver_congr fun k hk => by rw [Nat.zero_add, Nat.mod_eq_of_lt (List.mem_range.mp hk)]
  | a + 1 => by
    have h := sumOver_mod hN f a
    have h1 := sumOver_range_head (fun k => f ((a + k) % N)) N
    have h2 := sumOver_range_succ (fun k => f ((a + k) % N)) N
    have e : (a + N) % N = (a + 0) % N := by simp
    have e2 : (sumOver (List.range N) fun k => f ((a + 1 + k) % N)) =
        sumOver (List.range N) fun j => f ((a + (j + 1)) % N) :=
      sumOver_congr fun k _ => by rw [show a + 1 + k = a + (k + 1) by omega]
    rw [e2]
    rw [e] at h2
    grind

/-- The residue of subtractive dither at the grid point `m / N` steps with the offset of level `k`. -/
theorem dither_residue_eq {N : Nat} {s : Rat} (m : Int) (k : Nat) (hN : 0 < N) (hs : 0 < s) :
    (quantDither s ((2 * (k : Rat) + 1 - N) / (2 * N)) (s * ((m : Rat) / N)) - s * ((m : Rat) / N)) / s =
      -((2 * (((m + k) % N : Int) : Rat) + 1 - N) / (2 * N)) := by
  have hn : (0 : Rat) < (N : Rat) := by exact_mod_cast hN
  have hq : (m + k) = N * ((m + k) / N) + (m + k) % N := (Int.mul_ediv_add_emod (m + k) N).symm
  have hr0 : 0 ≤ (m + k) % (N : Int) := Int.emod_nonneg _ (by omega)
  have hr1 : (m + k) % (N : Int) < N := Int.emod_lt_of_pos _ (by omega)
  generalize (m + k) / (N : Int) = q at *
  generalize (m + k) % (N : Int) = r at *
  have hqr : (m : Rat) + k = N * q + r := by exact_mod_cast hq
  have hr0' : (0 : Rat) ≤ (r : Rat) := by exact_mod_cast hr0
  have hr1' : (r : Rat) + 1 ≤ (N : Rat) := by exact_mod_cast hr1
  have e1 : s * ((m : Rat) / N) / s + (2 * (k : Rat) + 1 - N) / (2 * N) + 1 / 2 = q + (2 * r + 1) / (2 * N) := by grind
  have h1 : 0 ≤ (2 * (r : Rat) + 1) / (2 * N) := div_nn (by grind) (by grind)
  have h2 : (2 * (r : Rat) + 1) / (2 * N) < 1 := by
    have h3 : (2 * (r : Rat) + 1) / (2 * N) ≤ 1 - 1 / (2 * N) := div_le (by grind) (by grind)
    have h4 : (0 : Rat) < 1 / (2 * N) := div_ps (by grind) (by grind)
    grind
  have hfloor : rnd (s * ((m : Rat) / N) / s + (2 * (k : Rat) + 1 - N) / (2 * N)) = q := by
    unfold rnd
    rw [e1]
    have h5 : q ≤ ((q : Rat) + (2 * r + 1) / (2 * N)).floor := Rat.le_floor_iff.mpr (by grind)
    have h6 : ((q : Rat) + (2 * r + 1) / (2 * N)).floor < q + 1 := Rat.floor_lt_iff.mpr (by
      have : (((q + 1 : Int)) : Rat) = (q : Rat) + 1 := Rat.intCast_add q 1
      rw [this]; grind)
    omega
  unfold quantDither
  rw [hfloor]
  grind

/-- **Dither law**: quantize a number on the grid of `1 / N` steps with a uniformly random one of the `N` offsets
`(2 k + 1 - N) / (2 N)`, subtracted again on reading. The mean of any function of the error, in steps, is its mean under
the dither law, whatever the number and the step are. -/
theorem dither_residue_law {N : Nat} {s : Rat} (m : Int) (g : Rat → Rat)
    (hN : 0 < N)
    (hs : 0 < s) :
    (sumOver (List.range N) fun k => 1 / (N : Rat) *
        g ((quantDither s ((2 * (k : Rat) + 1 - N) / (2 * N)) (s * ((m : Rat) / N)) - s * ((m : Rat) / N)) / s)) =
      (ditherLaw N).mean g := by
  have e : ∀ k : Nat, (m + k) % (N : Int) = (((m % (N : Int)).toNat + k) % N : Nat) := fun k => by
    have h0 : 0 ≤ m % (N : Int) := Int.emod_nonneg _ (by omega)
    have h1 : (((m % (N : Int)).toNat : Nat) : Int) = m % (N : Int) := Int.toNat_of_nonneg h0
    rw [Int.natCast_emod, Int.natCast_add, h1, Int.emod_add_emod]
  rw [ditherLaw_mean]
  have h := sumOver_mod hN (fun r => 1 / (N : Rat) * g (-((2 * (r : Rat) + 1 - N) / (2 * N)))) (m % (N : Int)).toNat
  have e2 : (sumOver (List.range N) fun k => 1 / (N : Rat) *
      g ((quantDither s ((2 * (k : Rat) + 1 - N) / (2 * N)) (s * ((m : Rat) / N)) - s * ((m : Rat) / N)) / s)) =
      sumOver (List.range N) fun k =>
        1 / (N : Rat) * g (-((2 * ((((m % (N : Int)).toNat + k) % N : Nat) : Rat) + 1 - N) / (2 * N))) :=
    sumOver_congr fun k _ => by rw [dither_residue_eq m k hN hs, e k]; rfl
  rw [e2, h, sumOver_range_reverse]
  refine sumOver_congr fun j hj => ?_
  have h3 := dither_reverse (α := Rat) (List.mem_range.mp hj)
  simp only [ofCount_eq_cast] at h3 ⊢
  rw [h3]
  grind

example : (sumOver (List.range 4) fun k => 1 / ((4 : Nat) : Rat) *
    ((quantDither 3 ((2 * (k : Rat) + 1 - (4 : Nat)) / (2 * (4 : Nat))) (3 * (((7 : Int) : Rat) / (4 : Nat))) -
      3 * (((7 : Int) : Rat) / (4 : Nat))) / 3) ^ 2) = (ditherLaw 4).mean fun x => x ^ 2 :=
  dither_residue_law 7 (fun x => x ^ 2) (by omega) (by grind)

end ProofKV
end

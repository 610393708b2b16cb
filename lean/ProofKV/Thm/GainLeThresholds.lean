module

public import ProofKV.Spec.Softmax
public import ProofKV.Spec.Thresholds
import ProofKV.Lemmas.Thresholds
import ProofKV.Lemmas.Witness

/-! The optimum over all shares of tokens is reached by threshold sets with two sides. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- At the output mass of a share `x` there is a threshold set with two sides that gains at least as much as `x`. -/
theorem exists_two_sided_gain_ge {I : List ι} {p r o x : ι → α}
    (hp : IsDist I p)
    (hr : ∀ i ∈ I, 1 ≤ r i)
    (ho : ∀ i ∈ I, ∀ j ∈ I, o i ≤ o j → r i ≤ r j)
    (hx : IsShare I x) :
    ∃ i ∈ I, ∃ j ∈ I, o i ≤ o j ∧ ∃ c, (c = i ∨ c = j) ∧ ∃ t, 0 ≤ t ∧ t ≤ 1 ∧
      gain I p (fun k => (r k)⁻¹) r x ≤ gain I p (fun k => (r k)⁻¹) r (twoSided o i j c t) := by
  have one := one_pos (α := α)
  have hpos : ∀ k ∈ I, 0 < r k := fun k hk => Std.lt_of_lt_of_le one (hr k hk)
  have hl : ∀ k ∈ I, 0 < (r k)⁻¹ := fun k hk => (inv_le_self (hr k hk)).1
  have hlu : ∀ k ∈ I, (r k)⁻¹ ≤ r k := fun k hk => (inv_le_self (hr k hk)).2
  obtain ⟨s, hs0, hs1, hsum⟩ := exists_price_eq hp hl hlu hx
  have hq : 0 ≤ 1 - s := by grind
  have hI : I ≠ [] := ne_nil_of_sumOver_ps (f := p) (by rw [hp.total]; exact one)
  have htarget : s * (sumOver I fun k => p k * (r k)⁻¹) ≤ sumOver I fun k => p k * ((1 - s) * r k + s * (r k)⁻¹) := by
    rw [← sumOver_mul]
    refine sumOver_le fun k hk => ?_
    have := mul_nn (mul_nn hq (Std.le_of_lt (hpos k hk))) (hp.nonneg k hk)
    generalize (r k)⁻¹ = q
    grind
  have htarget0 : 0 ≤ s * sumOver I fun k => p k * (r k)⁻¹ :=
    mul_nn hs0 (sumOver_nn fun k hk => mul_nn (hp.nonneg k hk) (Std.le_of_lt (hl k hk)))
  obtain ⟨i, hi, j, hj, hij, c, hc, t, ht0, ht1, hsum', hmass⟩ := exists_two_sided (o := o)
    (g := fun k => (1 - s) * r k + s * (r k)⁻¹) (L := fun k => (1 - s) * r k * r k < s) hp.nonneg
    (fun k hk => price_pos hs0 hs1 (hpos k hk)) hI
    (fun a ha b hb hab h => price_falls (hpos a ha) (ho a ha b hb hab) hq h)
    (fun a ha b hb hab h => price_rises (hpos a ha) (ho a ha b hb hab) hq h) htarget0 htarget hx hsum
  refine ⟨i, hi, j, hj, hij, c, hc, t, ht0, ht1, ?_⟩
  rw [gain_eq_of_price hp hl hlu hx hsum, gain_eq_of_price hp hl hlu (isShare_twoSided ht0 ht1) hsum']
  grind

/-- **Threshold sets**: let `o` be an order of the tokens in which the ratio bounds do not decrease. What bounds the gain
of every threshold set with two sides, with the tokens at the place of one of its two ends taken in any part, bounds the
gain of every share of the tokens. -/
theorem gain_le_thresholds {I : List ι} {p r o x : ι → α} {T : α}
    (hp : IsDist I p)
    (hr : ∀ i ∈ I, 1 ≤ r i)
    (ho : ∀ i ∈ I, ∀ j ∈ I, o i ≤ o j → r i ≤ r j)
    (hx : IsShare I x)
    (hT : ∀ i ∈ I, ∀ j ∈ I, o i ≤ o j → ∀ c, (c = i ∨ c = j) → ∀ t, 0 ≤ t → t ≤ 1 →
      gain I p (fun k => (r k)⁻¹) r (twoSided o i j c t) ≤ T) :
    gain I p (fun k => (r k)⁻¹) r x ≤ T := by
  obtain ⟨i, hi, j, hj, hij, c, hc, t, h0, h1, hle⟩ := exists_two_sided_gain_ge hp hr ho hx
  exact Std.le_trans hle (hT i hi j hj hij c hc t h0 h1)

example : gain tok half (fun k => (rad k)⁻¹) rad half ≤ 1 :=
  gain_le_thresholds (o := rad) half_isDist ext_inRatio.one_le (fun _ _ _ _ h => h) isShare_half
    fun _ _ _ _ _ _ _ _ h0 h1 => gain_le_one half_isDist (fun k hk => (inv_le_self (ext_inRatio.one_le k hk)).1)
      (fun k hk => (inv_le_self (ext_inRatio.one_le k hk)).2) (isShare_twoSided h0 h1)

end ProofKV
end

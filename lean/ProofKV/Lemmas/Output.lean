module

public import ProofKV.Lemmas.TV

/-! Lemmas on attention outputs. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- Means are linear: sums. -/
theorem mean_add (I : List ι) (p f g : ι → α) : (mean I p fun i => f i + g i) = mean I p f + mean I p g := by
  unfold mean
  rw [← sumOver_add]
  exact sumOver_congr fun i _ => by grind

/-- Means are linear: differences. -/
theorem mean_sub (I : List ι) (p f g : ι → α) : (mean I p fun i => f i - g i) = mean I p f - mean I p g := by
  unfold mean
  rw [← sumOver_sub]
  exact sumOver_congr fun i _ => by grind

/-- Means of bounded values are bounded. -/
theorem mean_le_of_le {I : List ι} {p f g : ι → α} (hp : ∀ i ∈ I, 0 ≤ p i) (h : ∀ i ∈ I, f i ≤ g i) :
    mean I p f ≤ mean I p g := sumOver_le fun i hi => mul_le_left (hp i hi) (h i hi)

/-- The mean of absolute values bounds the absolute value of the mean. -/
theorem absV_mean_le {I : List ι} {p f d : ι → α} (hp : ∀ i ∈ I, 0 ≤ p i) (h : ∀ i ∈ I, absV (f i) ≤ d i) :
    absV (mean I p f) ≤ mean I p d := by
  refine Std.le_trans (absV_sumOver_le _ _) (sumOver_le fun i hi => ?_)
  rw [absV_mul]
  have e : absV (p i) = p i := by have := absV_cases (p i); have := hp i hi; grind
  rw [e]
  exact mul_le_left (hp i hi) (h i hi)

/-- The mean of a constant. -/
theorem mean_const {I : List ι} {p : ι → α} (h : sumOver I p = 1) (c : α) : (mean I p fun _ => c) = c := by
  unfold mean
  rw [sumOver_mul_right, h]
  grind

/-- **Centred decomposition**: the output error is the weight change applied to centred values plus the value errors. -/
theorem output_decomposition {I : List ι} {p q v v' : ι → α} (htotal : sumOver I p = sumOver I q) (c : α) :
    mean I p v - mean I q v' = (sumOver I fun i => (p i - q i) * (v i - c)) + mean I q fun i => v i - v' i := by
  have e : (sumOver I fun i => (p i - q i) * (v i - c)) = mean I p v - mean I q v - (sumOver I p - sumOver I q) * c := by
    unfold mean
    rw [← sumOver_sub, ← sumOver_sub, ← sumOver_mul_right, ← sumOver_sub]
    exact sumOver_congr fun i _ => by grind
  rw [e, mean_sub, htotal]
  grind

/-- A change of weights moves the mean of values in `[lo, hi]` by at most `tv (hi - lo)`. -/
theorem mean_diff_le_range {I : List ι} {p q v : ι → α} {lo hi : α} (htotal : sumOver I p = sumOver I q)
    (hv : ∀ i ∈ I, lo ≤ v i ∧ v i ≤ hi) : mean I p v - mean I q v ≤ tv I p q * (hi - lo) := by
  have e : mean I p v - mean I q v = sumOver I fun i => (p i - q i) * (v i - lo) := by
    have := output_decomposition (v := v) (v' := v) htotal lo
    have h2 : (mean I q fun i => v i - v i) = 0 := by rw [mean_sub]; grind
    grind
  rw [e, tv_eq_choice htotal, ← sumOver_mul_right]
  refine sumOver_le fun i hmem => ?_
  have h1 := hv i hmem
  by_cases h : q i < p i <;> simp only [h, if_true, if_false]
  · have := mul_le_left (c := p i - q i) (by grind) (a := v i - lo) (b := hi - lo) (by grind); grind
  · have := mul_nn (a := q i - p i) (b := v i - lo) (by grind) (by grind); grind

end ProofKV
end

module

public import ProofKV.Lemmas.TVBounds

/-! Lemmas behind the dual cell certificate and the histogram bounds. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- Hinges of affine functions are convex. -/
theorem posPart_convex {a b t s : α} (ht : 0 ≤ t) (hs : 0 ≤ s) : posPart (t * a + s * b) ≤ t * posPart a + s * posPart b := by
  have h1 := posPart_cases a
  have h2 := posPart_cases b
  have h3 := posPart_cases (t * a + s * b)
  have h4 := mul_le_left ht h1.2.1
  have h5 := mul_le_left hs h2.2.1
  have h6 := mul_nn ht h1.1
  have h7 := mul_nn hs h2.1
  grind

/-- A non-negative factor comes out of a positive part. -/
theorem posPart_mul {a c : α} (hc : 0 ≤ c) : posPart (c * a) = c * posPart a := by
  have h1 := posPart_cases a
  have h2 := posPart_cases (c * a)
  rcases Std.le_total (a := 0) (b := a) with h | h
  · have := mul_nn hc h; grind
  · have := mul_nn hc (b := -a) (by grind); grind

/-- **Key inequality** of the dual certificate: the gain at output mass `s` is at most `s` minus the price line. -/
theorem gain_le_price {I : List ι} {p l u x : ι → α} (hp : IsDist I p) (hl : ∀ i ∈ I, 0 < l i)
    (hlu : ∀ i ∈ I, l i ≤ u i) (hx : IsShare I x) :
    ∃ s : α, 0 ≤ s ∧ s ≤ 1 ∧ ∀ mu : α, gain I p l u x ≤ s - priceLine I p l u mu s := by
  have hu : ∀ i ∈ I, 0 ≤ p i * u i := fun i hi => mul_nn (hp.nonneg i hi) (by
    have := hl i hi; have := hlu i hi; grind)
  have hll : ∀ i ∈ I, 0 ≤ p i * l i := fun i hi => mul_nn (hp.nonneg i hi) (Std.le_of_lt (hl i hi))
  have ha := share_nn hx hu
  have hb := rest_nn hx hll
  have hd := gain_den_pos hp hl hlu hx
  have hB := share_add (I := I) (fun i => p i * l i) x
  unfold gain priceLine
  rw [← hB]
  have key : ∀ s mu : α, mu * ((1 - s) * (sumOver I fun i => x i * (p i * u i)) +
      s * sumOver I fun i => x i * (p i * l i)) - (sumOver I fun i => x i * p i) ≤
      sumOver I fun i => p i * posPart (mu * ((1 - s) * u i + s * l i) - 1) := by
    intro s mu
    rw [← sumOver_mul, ← sumOver_mul, ← sumOver_add, ← sumOver_mul, ← sumOver_sub]
    refine sumOver_le fun i hi => ?_
    have h1 := posPart_cases (mu * ((1 - s) * u i + s * l i) - 1)
    have h2 := mul_le_left (mul_nn (hx i hi).1 (hp.nonneg i hi)) h1.2.1
    have h3 := mul_le_right (mul_nn (hp.nonneg i hi) h1.1) (hx i hi).2
    grind
  generalize (sumOver I fun i => x i * (p i * u i)) = a at *
  generalize (sumOver I fun i => (1 - x i) * (p i * l i)) = b at *
  generalize (sumOver I fun i => x i * (p i * l i)) = c at *
  generalize (sumOver I fun i => x i * p i) = P at *
  refine ⟨a / (a + b), div_nn ha hd, div_le hd (by grind), fun mu => ?_⟩
  have k := key (a / (a + b)) mu
  have e : (1 - a / (a + b)) * a = a / (a + b) * b := by grind
  generalize a / (a + b) = s at *
  have e2 : mu * ((1 - s) * a + s * c) = mu * s * (c + b) := by rw [e]; grind
  grind

/-- On a cell the gap to the price line is largest at an end. -/
theorem price_cell {I : List ι} {p l u : ι → α} {lo hi mu s T : α} (hp : IsDist I p) (h1 : lo ≤ s) (h2 : s ≤ hi)
    (hlo : lo - priceLine I p l u mu lo ≤ T) (hhi : hi - priceLine I p l u mu hi ≤ T) :
    s - priceLine I p l u mu s ≤ T := by
  by_cases e : lo = hi
  · have : s = lo := by grind
    subst this
    exact hlo
  have hw : 0 < hi - lo := by grind
  refine le_of_mul hw ?_
  have hc : (hi - lo) * (sumOver I fun i => p i * posPart (mu * ((1 - s) * u i + s * l i) - 1)) ≤
      (hi - s) * (sumOver I fun i => p i * posPart (mu * ((1 - lo) * u i + lo * l i) - 1)) +
        (s - lo) * sumOver I fun i => p i * posPart (mu * ((1 - hi) * u i + hi * l i) - 1) := by
    rw [← sumOver_mul, ← sumOver_mul, ← sumOver_mul, ← sumOver_add]
    refine sumOver_le fun i hmem => ?_
    have g1 := posPart_convex (a := mu * ((1 - lo) * u i + lo * l i) - 1) (b := mu * ((1 - hi) * u i + hi * l i) - 1)
      (t := hi - s) (s := s - lo) (by grind) (by grind)
    have g2 : (hi - s) * (mu * ((1 - lo) * u i + lo * l i) - 1) + (s - lo) * (mu * ((1 - hi) * u i + hi * l i) - 1) =
        (hi - lo) * (mu * ((1 - s) * u i + s * l i) - 1) := by grind
    rw [g2, posPart_mul (Std.le_of_lt hw)] at g1
    have := mul_le_left (hp.nonneg i hmem) g1
    grind
  have t1 := mul_le_left (c := hi - s) (by grind) hlo
  have t2 := mul_le_left (c := s - lo) (by grind) hhi
  unfold priceLine at *
  grind

/-- The value of a function at a key of a list without repetition. -/
theorem sum_single {κ : Type w} (c : α) (k : κ) : ∀ {K : List κ}, K.Nodup → k ∈ K →
    (sumOver K fun j => if k = j then c else 0) = c
  | [], _, h => by simp at h
  | j :: K, hn, h => by
    have hn' := List.nodup_cons.mp hn
    simp only [sumOver]
    by_cases e : k = j
    · subst e
      have : (sumOver K fun j => if k = j then c else 0) = 0 := by
        rw [sumOver_congr (g := fun _ => 0) fun j hj => by
          have : k ≠ j := fun e => hn'.1 (e ▸ hj)
          simp [this], sumOver_zero]
      simp only [this, if_true]
      grind
    · have hk : k ∈ K := by simpa [e] using h
      rw [sum_single c k hn'.2 hk]
      simp only [e, if_false]
      grind

/-- A sum over tokens, bin by bin. -/
theorem sum_bins {κ : Type w} {I : List ι} {K : List κ} {bin : ι → κ} (hK : K.Nodup) (hbin : ∀ i ∈ I, bin i ∈ K)
    (f : ι → α) : (sumOver K fun k => sumIf (fun i => bin i = k) I f) = sumOver I f := by
  show (sumOver K fun k => sumOver I fun i => if bin i = k then f i else 0) = _
  rw [sumOver_comm]
  exact sumOver_congr fun i hi => sum_single (f i) (bin i) hK (hbin i hi)

/-- A factor that depends on the bin only comes out of the sum over the bin. -/
theorem sumIf_bin_mul {κ : Type w} {I : List ι} {bin : ι → κ} (f : ι → α) (g : κ → α) (k : κ) :
    sumIf (fun i => bin i = k) I (fun i => f i * g (bin i)) = sumIf (fun i => bin i = k) I f * g k := by
  unfold sumIf
  rw [← sumOver_mul_right]
  exact sumOver_congr fun i _ => by by_cases h : bin i = k <;> simp [h] <;> grind

/-- Sums over a bin of non-negative values are non-negative. -/
theorem sumIf_nn {I : List ι} {A : ι → Prop} {f : ι → α} (h : ∀ i ∈ I, 0 ≤ f i) : 0 ≤ sumIf A I f :=
  sumOver_nn fun i hi => by by_cases e : A i <;> simp only [e, if_true, if_false] <;> grind

/-- Sums over a bin are monotone, with the bin at hand. -/
theorem sumIf_le {I : List ι} {A : ι → Prop} {f g : ι → α} (h : ∀ i ∈ I, A i → f i ≤ g i) : sumIf A I f ≤ sumIf A I g :=
  sumOver_le fun i hi => by by_cases e : A i <;> simp only [e, if_true, if_false] <;> grind

end ProofKV
end

module

public import ProofKV.Lemmas.Eviction
import ProofKV.Lemmas.TV

/-! A difference of two distributions applied to vectors. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

variable {κ : Type w} {B : (κ → α) → α → Prop}

/-- The positive parts of the difference of two distributions sum to the total variation distance. -/
theorem sumOver_posPart_eq_tv {I : List ι} {p q : ι → α} (hp : sumOver I p = sumOver I q) :
    (sumOver I fun i => posPart (p i - q i)) = tv I p q := by
  rw [tv_eq_choice hp]
  refine sumOver_congr fun i _ => ?_
  have := posPart_cases (p i - q i)
  by_cases h : q i < p i <;> simp only [h, if_true, if_false] <;> grind

/-- The difference of two distributions applied to vectors of bounded distances: at most the total variation distance
times the diameter. -/
theorem difference_bound (hB : IsNormBound B) {I : List ι} {p q : ι → α} {v : ι → κ → α} {D : α}
    (hpq : sumOver I p = sumOver I q) (hD : ∀ i ∈ I, ∀ j ∈ I, B (fun k => v i k - v j k) D) :
    B (fun k => mean I p (fun i => v i k) - mean I q fun i => v i k) (tv I p q * D) := by
  have hx := sumOver_posPart_eq_tv hpq
  have hy := sumOver_posPart_eq_tv hpq.symm
  rw [tv_comm I q p] at hy
  have hxn : ∀ i, 0 ≤ posPart (p i - q i) := fun i => (posPart_cases _).1
  have hyn : ∀ i, 0 ≤ posPart (q i - p i) := fun i => (posPart_cases _).1
  have hd : ∀ i, p i - q i = posPart (p i - q i) - posPart (q i - p i) := fun i => by
    have := posPart_cases (p i - q i); have := posPart_cases (q i - p i); grind
  by_cases hT : tv I p q = 0
  · have hzero : ∀ {f : ι → α}, (∀ i, 0 ≤ f i) → sumOver I f = 0 → ∀ i ∈ I, f i = 0 := fun hf h0 i hi => by
      have h1 := le_sumOver hi fun j _ => hf j
      have h2 := hf i
      grind
    have e : (fun k => mean I p (fun i => v i k) - mean I q fun i => v i k) = fun _ => 0 := by
      funext k
      unfold mean
      rw [← sumOver_sub]
      have e2 : ∀ i ∈ I, p i * v i k - q i * v i k = 0 := fun i hi => by
        have h1 := hzero hxn (hx.trans hT) i hi
        have h2 := hzero hyn (hy.trans hT) i hi
        have h3 := hd i
        have h4 : p i = q i := by grind
        rw [h4]; grind
      rw [sumOver_congr e2, sumOver_zero]
    rw [e, hT]
    exact hB.mono hB.zero (by grind)
  · have hT0 : 0 < tv I p q := by
      have : 0 ≤ tv I p q := hx ▸ sumOver_nn fun i _ => hxn i
      grind
    have inner : ∀ i ∈ I, B (fun k => sumOver I fun j => posPart (q j - p j) / tv I p q * (v i k - v j k)) D := fun i hi => by
      have h1 := hB.sumOver_const (I := I) (a := fun j => posPart (q j - p j) / tv I p q)
        (x := fun j k => v i k - v j k) (b := D) (fun j _ => div_nn (hyn j) hT0) fun j hj _ => hD i hi j hj
      rw [sumOver_div, hy] at h1
      exact hB.mono h1 (by grind)
    have outer := hB.sumOver_const (I := I) (a := fun i => posPart (p i - q i))
      (x := fun i k => sumOver I fun j => posPart (q j - p j) / tv I p q * (v i k - v j k)) (b := D)
      (fun i _ => hxn i) fun i hi _ => inner i hi
    rw [hx] at outer
    have e : (fun k => mean I p (fun i => v i k) - mean I q fun i => v i k) = fun k => sumOver I fun i =>
        posPart (p i - q i) * sumOver I fun j => posPart (q j - p j) / tv I p q * (v i k - v j k) := by
      funext k
      have e1 : ∀ i, (sumOver I fun j => posPart (q j - p j) / tv I p q * (v i k - v j k)) =
          v i k - (sumOver I fun j => posPart (q j - p j) / tv I p q * v j k) := fun i => by
        have e2 : (fun j => posPart (q j - p j) / tv I p q * (v i k - v j k)) =
            fun j => posPart (q j - p j) / tv I p q * v i k - posPart (q j - p j) / tv I p q * v j k := by
          funext j; grind
        rw [e2, sumOver_sub, sumOver_mul_right, sumOver_div, hy]
        grind
      have e3 : (sumOver I fun i => posPart (p i - q i) *
          (v i k - (sumOver I fun j => posPart (q j - p j) / tv I p q * v j k))) =
          (sumOver I fun i => posPart (p i - q i) * v i k) -
            tv I p q * (sumOver I fun j => posPart (q j - p j) / tv I p q * v j k) := by
        have e4 : (fun i => posPart (p i - q i) *
            (v i k - (sumOver I fun j => posPart (q j - p j) / tv I p q * v j k))) = fun i =>
            posPart (p i - q i) * v i k - posPart (p i - q i) *
              (sumOver I fun j => posPart (q j - p j) / tv I p q * v j k) := by funext i; grind
        rw [e4, sumOver_sub, sumOver_mul_right, hx]
      have e5 : tv I p q * (sumOver I fun j => posPart (q j - p j) / tv I p q * v j k) =
          sumOver I fun j => posPart (q j - p j) * v j k := by
        rw [← sumOver_mul]
        exact sumOver_congr fun j _ => by grind
      simp only [e1]
      rw [e3, e5]
      unfold mean
      rw [← sumOver_sub, ← sumOver_sub]
      exact sumOver_congr fun i _ => by have := hd i; grind
    rw [e]
    exact outer

/-- A tilt by positive ratios is a distribution. -/
theorem tilt_isDist_of_pos {I : List ι} {p w : ι → α} (hp : IsDist I p) (hw : ∀ i ∈ I, 0 < w i) :
    IsDist I (tilt I p w) where
  nonneg i hi := div_nn (mul_nn (hp.nonneg i hi) (Std.le_of_lt (hw i hi))) (tilt_total_pos hp hw)
  total := tilt_total (tilt_total_pos hp hw)

end ProofKV
end

module

public import ProofKV.Lemmas.TVCells
public import ProofKV.Lemmas.Witness

/-! The histogram bound: ratio bounds binned upward. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Histogram bound**: put every token into a bin whose value `R` is at least its ratio bound, keep only the mass of
every bin; what bounds the gain of every share of the bins bounds the total variation distance of the tokens. -/
theorem tv_le_histogram {κ : Type w} {I : List ι} {p r w : ι → α} {K : List κ} {bin : ι → κ} {R : κ → α} {T : α}
    (hp : IsDist I p)
    (hw : InRatio I r w)
    (hK : K.Nodup)
    (hbin : ∀ i ∈ I, bin i ∈ K)
    (hR : ∀ i ∈ I, r i ≤ R (bin i))
    (hT : ∀ y, IsShare K y →
      gain K (fun k => sumIf (fun i => bin i = k) I p) (fun k => (R k)⁻¹) R y ≤ T) :
    tv I (tilt I p w) p ≤ T := by
  have h0 := one_pos (α := α)
  have hr : ∀ i ∈ I, 0 < r i := fun i hi => by have := hw.one_le i hi; grind
  have hw' : InRatio I (fun i => R (bin i)) w := by
    refine ⟨fun i hi => ?_, fun i hi => ?_, fun i hi => ?_⟩
    · have := hw.one_le i hi; have := hR i hi; grind
    · have := mul_le_right (Std.le_of_lt (hw.pos i hi)) (hR i hi); have := hw.lower i hi; grind
    · have := hw.upper i hi; have := hR i hi; grind
  refine tv_le_of_gain hp hw'.inBox fun x hx => ?_
  have hxp : ∀ i ∈ I, 0 ≤ x i * p i := fun i hi => mul_nn (hx i hi).1 (hp.nonneg i hi)
  have hle : ∀ k, sumIf (fun i => bin i = k) I (fun i => x i * p i) ≤ sumIf (fun i => bin i = k) I p := fun k =>
    sumIf_le fun i hi _ => by have := mul_le_right (hp.nonneg i hi) (hx i hi).2; grind
  have hnn : ∀ k, 0 ≤ sumIf (fun i => bin i = k) I (fun i => x i * p i) := fun k => sumIf_nn hxp
  let y : κ → α := fun k => sumIf (fun i => bin i = k) I (fun i => x i * p i) / sumIf (fun i => bin i = k) I p
  have hy : ∀ k, y k * sumIf (fun i => bin i = k) I p = sumIf (fun i => bin i = k) I fun i => x i * p i := by
    intro k
    have h1 := hle k
    have h2 := hnn k
    by_cases e : sumIf (fun i => bin i = k) I p = 0
    · rw [e] at h1 ⊢; grind
    · show _ / _ * _ = _; grind
  have hys : IsShare K y := fun k _ => by
    have h1 := hle k
    have h2 := hnn k
    by_cases e : sumIf (fun i => bin i = k) I p = 0
    · have : y k = 0 := by
        show _ / _ = _
        rw [e, Field.div_eq_mul_inv, Field.inv_zero]; grind
      grind
    · have h3 : 0 < sumIf (fun i => bin i = k) I p := by grind
      exact ⟨div_nn h2 h3, div_le h3 (by grind)⟩
  have hT := hT y hys
  unfold gain at hT ⊢
  have e1 : ∀ f : κ → α, (sumOver K fun k => y k * (sumIf (fun i => bin i = k) I p * f k)) =
      sumOver I fun i => x i * (p i * f (bin i)) := by
    intro f
    rw [sumOver_congr (g := fun i => x i * p i * f (bin i)) fun i _ => by grind, ← sum_bins hK hbin]
    exact sumOver_congr fun k _ => by rw [sumIf_bin_mul (fun i => x i * p i) f k, ← hy]; grind
  have e2 : (sumOver K fun k => (1 - y k) * (sumIf (fun i => bin i = k) I p * (R k)⁻¹)) =
      sumOver I fun i => (1 - x i) * (p i * (R (bin i))⁻¹) := by
    rw [sumOver_congr (g := fun i => p i * (R (bin i))⁻¹ - x i * (p i * (R (bin i))⁻¹)) fun i _ => by grind,
      sumOver_sub, ← e1 fun k => (R k)⁻¹, ← sum_bins hK hbin fun i => p i * (R (bin i))⁻¹, ← sumOver_sub]
    exact sumOver_congr fun k _ => by rw [sumIf_bin_mul p (fun k => (R k)⁻¹) k]; grind
  have e3 : (sumOver K fun k => y k * sumIf (fun i => bin i = k) I p) = sumOver I fun i => x i * p i := by
    rw [← sum_bins hK hbin]
    exact sumOver_congr fun k _ => hy k
  rw [e1, e2, e3] at hT
  exact hT

example : tv tok (tilt tok half ext) half ≤ 1 := by
  refine tv_le_histogram (bin := fun _ => ()) (K := [()]) (R := fun _ => 3) half_isDist ext_inRatio (by simp)
    (fun _ _ => by simp) (fun i _ => by cases i <;> simp [rad] <;> grind) fun y hy => ?_
  have h := hy () (by simp)
  simp only [gain, sumIf, tok, half, sumOver, if_true]
  have h2 : 0 < y () * ((1 / 2 + (1 / 2 + 0)) * 3) + 0 + ((1 - y ()) * ((1 / 2 + (1 / 2 + 0)) * (3 : Rat)⁻¹) + 0) := by grind
  have h3 := div_le (a := y () * ((1 / 2 + (1 / 2 + 0)) * 3) + 0) (c := 1) h2 (by grind)
  grind

end ProofKV
end

module

public import ProofKV.Lemmas.TVBounds

/-! The mean bound and the hinge bound for one choice of tokens, from the sums that the certificate keeps. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The quantities of one choice under symmetric ratio bounds. -/
structure ChoiceFacts (a b h P Q : α) : Prop where
  /-- Mass of the choice. -/
  massNonneg : 0 ≤ P
  /-- Mass of the rest. -/
  restNonneg : 0 ≤ Q
  /-- The masses add to one. -/
  total : P + Q = 1
  /-- The raised mass of the choice. -/
  raised : P ≤ a
  /-- The lowered mass of the rest is not negative. -/
  loweredNonneg : 0 ≤ b
  /-- The lowered mass of the rest. -/
  lowered : b ≤ Q
  /-- The raised mass of the rest. -/
  raisedRest : Q ≤ h
  /-- Cauchy–Schwarz on the rest. -/
  cauchy : Q * Q ≤ h * b
  /-- The denominator is positive. -/
  den : 0 < a + b

/-- The facts of a choice under ratio bounds. -/
theorem choiceFacts {I : List ι} {p r w x : ι → α} (hp : IsDist I p) (hw : InRatio I r w) (hx : IsShare I x) :
    ChoiceFacts (sumOver I fun i => x i * (p i * r i)) (sumOver I fun i => (1 - x i) * (p i * (r i)⁻¹))
      (sumOver I fun i => (1 - x i) * (p i * r i)) (sumOver I fun i => x i * p i)
      (sumOver I fun i => (1 - x i) * p i) := by
  have h0 := one_pos (α := α)
  have hr : ∀ i ∈ I, 0 < r i := fun i hi => by have := hw.one_le i hi; grind
  have hi0 : ∀ i ∈ I, 0 < (r i)⁻¹ := hw.inBox.pos
  have hi1 : ∀ i ∈ I, (r i)⁻¹ ≤ 1 := fun i hi =>
    le_of_mul (hr i hi) (by rw [Field.mul_inv_cancel (by have := hr i hi; grind)]; have := hw.one_le i hi; grind)
  have hup : ∀ i ∈ I, p i ≤ p i * r i := fun i hi => by
    have := mul_le_left (hp.nonneg i hi) (hw.one_le i hi); grind
  have hdn : ∀ i ∈ I, p i * (r i)⁻¹ ≤ p i := fun i hi => by
    have := mul_le_left (hp.nonneg i hi) (hi1 i hi); grind
  have hnn : ∀ i ∈ I, 0 ≤ p i * (r i)⁻¹ := fun i hi => mul_nn (hp.nonneg i hi) (Std.le_of_lt (hi0 i hi))
  have hnr : ∀ i ∈ I, 0 ≤ p i * r i := fun i hi => mul_nn (hp.nonneg i hi) (Std.le_of_lt (hr i hi))
  exact {
    massNonneg := share_nn hx hp.nonneg
    restNonneg := rest_nn hx hp.nonneg
    total := (share_add p x).trans hp.total
    raised := share_le hx hup
    loweredNonneg := rest_nn hx hnn
    lowered := rest_le hx hdn
    raisedRest := rest_le hx hup
    cauchy := sq_le_of_am_hm (rest_nn hx hnn) (rest_nn hx hnr) fun t =>
      am_hm hp hx.compl hr (fun i hi => by rw [Field.mul_inv_cancel (by have := hr i hi; grind)]; exact Std.le_refl _) t
    den := gain_den_pos hp hw.inBox.pos hw.inBox.le hx }

/-- The mean of the ratio bounds is at least one. -/
theorem one_le_mean {I : List ι} {p r : ι → α} (hp : IsDist I p) (hr : ∀ i ∈ I, 1 ≤ r i) : 1 ≤ mean I p r := by
  rw [← hp.total]
  exact sumOver_le fun i hi => by have := mul_le_left (hp.nonneg i hi) (hr i hi); grind

/-- `m ≤ A - 1` gives the first form of the mean bound. -/
theorem quot_le_of_le {m A : α} (hm : 0 ≤ m) (hA : 1 ≤ A) (h : m ≤ A - 1) : m / (m + 1) ≤ 1 - 1 / A := by
  have h0 := one_pos (α := α)
  have h1 : 1 - 1 / A = (A - 1) / A := by grind
  rw [h1]
  exact div_le_div_cross (by grind) (by grind) (by grind)

/-- The mean bound, first form. -/
theorem tv_le_mean_form {I : List ι} {p r w : ι → α} (hp : IsDist I p) (hw : InRatio I r w) (hA : mean I p r ≤ 2) :
    tv I (tilt I p w) p ≤ 1 - 1 / mean I p r := by
  have h0 := one_pos (α := α)
  refine tv_le_of_gain hp hw.inBox fun x hx => ?_
  have c := choiceFacts hp hw hx
  have hsum : (sumOver I fun i => x i * (p i * r i)) + (sumOver I fun i => (1 - x i) * (p i * r i)) = mean I p r :=
    share_add (fun i => p i * r i) x
  unfold gain
  rw [← hsum] at hA ⊢
  obtain ⟨h1, h2, h3, h4, h5, h6, h7, h8, h9⟩ := c
  generalize (sumOver I fun i => x i * (p i * r i)) = a at *
  generalize (sumOver I fun i => (1 - x i) * (p i * (r i)⁻¹)) = b at *
  generalize (sumOver I fun i => (1 - x i) * (p i * r i)) = h at *
  generalize (sumOver I fun i => x i * p i) = P at *
  generalize (sumOver I fun i => (1 - x i) * p i) = Q at *
  rcases Std.le_total (a := a) (b := 1) with ha | ha
  · exact mean_branch_small h1 h2 h3 h4 h5 h6 h7 h8 ha h9
  · refine Std.le_trans (mean_branch_large h2 h3 (by grind) h5 (by grind) h8 (by grind) h9) ?_
    refine quot_le_of_le (mul_nn (by grind) (by grind)) (by grind) ?_
    have := mul_nn (a := a - 1) (b := 1 - h) (by grind) (by grind)
    grind

/-- The mean bound, second form. -/
theorem tv_le_mean_sq_form {I : List ι} {p r w : ι → α} (hp : IsDist I p) (hw : InRatio I r w) :
    tv I (tilt I p w) p ≤ mean I p r * mean I p r / (mean I p r * mean I p r + 4) := by
  have h0 := one_pos (α := α)
  refine tv_le_of_gain hp hw.inBox fun x hx => ?_
  have c := choiceFacts hp hw hx
  have hsum : (sumOver I fun i => x i * (p i * r i)) + (sumOver I fun i => (1 - x i) * (p i * r i)) = mean I p r :=
    share_add (fun i => p i * r i) x
  unfold gain
  rw [← hsum]
  obtain ⟨h1, h2, h3, h4, h5, h6, h7, h8, h9⟩ := c
  generalize (sumOver I fun i => x i * (p i * r i)) = a at *
  generalize (sumOver I fun i => (1 - x i) * (p i * (r i)⁻¹)) = b at *
  generalize (sumOver I fun i => (1 - x i) * (p i * r i)) = h at *
  generalize (sumOver I fun i => x i * p i) = P at *
  generalize (sumOver I fun i => (1 - x i) * p i) = Q at *
  have hm : 0 ≤ a * h := mul_nn (by grind) (by grind)
  have hs := sq_nn (a - h)
  refine Std.le_trans (mean_branch_large h2 h3 (by grind) h5 (by grind) h8 (by grind) h9) ?_
  exact div_le_div_cross (by grind) (by have := sq_nn (a + h); grind) (by grind)

/-- The overlap bound. -/
theorem tv_le_overlap_form {I : List ι} {p r w : ι → α} (hp : IsDist I p) (hw : InRatio I r w) :
    tv I (tilt I p w) p ≤ 1 - (mean I p fun i => (r i)⁻¹) / mean I p r := by
  have h0 := one_pos (α := α)
  refine tv_le_of_gain hp hw.inBox fun x hx => ?_
  have c := choiceFacts hp hw hx
  have hsum : (sumOver I fun i => x i * (p i * r i)) + (sumOver I fun i => (1 - x i) * (p i * r i)) = mean I p r :=
    share_add (fun i => p i * r i) x
  have hsumB : (sumOver I fun i => x i * (p i * (r i)⁻¹)) + (sumOver I fun i => (1 - x i) * (p i * (r i)⁻¹)) =
      mean I p fun i => (r i)⁻¹ := share_add (fun i => p i * (r i)⁻¹) x
  have hB : (sumOver I fun i => x i * (p i * (r i)⁻¹)) ≤ sumOver I fun i => x i * p i := by
    have := (choiceFacts hp hw hx.compl).lowered
    have e : ∀ f : ι → α, (sumOver I fun i => (1 - (1 - x i)) * f i) = sumOver I fun i => x i * f i := fun f =>
      sumOver_congr fun i _ => by grind
    rw [e, e] at this
    exact this
  have hBnn : 0 ≤ sumOver I fun i => x i * (p i * (r i)⁻¹) :=
    share_nn hx fun i hi => mul_nn (hp.nonneg i hi) (Std.le_of_lt (hw.inBox.pos i hi))
  unfold gain
  rw [← hsum, ← hsumB]
  obtain ⟨h1, h2, h3, h4, h5, h6, h7, h8, h9⟩ := c
  generalize (sumOver I fun i => x i * (p i * r i)) = a at *
  generalize (sumOver I fun i => (1 - x i) * (p i * (r i)⁻¹)) = b at *
  generalize (sumOver I fun i => (1 - x i) * (p i * r i)) = h at *
  generalize (sumOver I fun i => x i * p i) = P at *
  generalize (sumOver I fun i => (1 - x i) * p i) = Q at *
  generalize (sumOver I fun i => x i * (p i * (r i)⁻¹)) = c at *
  have hA : 1 ≤ a + h := by grind
  have e1 : (c + b) / (a + h) = c / (a + h) + b / (a + h) := by grind
  have e2 : b / (a + h) ≤ b / (a + b) := div_le_div_cross (by grind) h9 (by
    have := mul_le_left h5 (b := a + h) (a := a + b) (by grind); grind)
  have e3 : c / (a + h) ≤ c := div_le (by grind) (by have := mul_le_left hBnn hA; grind)
  have e4 : a / (a + b) = 1 - b / (a + b) := by grind
  grind

end ProofKV
end

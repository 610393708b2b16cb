module

public import ProofKV.Lemmas.TVCells
public import ProofKV.Lemmas.Witness

/-! The dual cell certificate from three sums a bin. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- One token's hinge is at most the chord of its bin. -/
theorem hinge_le_chord {L R r mu s : α} (hL : 0 < L) (hLr : L ≤ r) (hrR : r ≤ R) (hLR : L < R) (hs0 : 0 ≤ s)
    (hmu : 0 ≤ mu) : (R - L) * posPart (mu * ((1 - s) * r + s * r⁻¹) - 1) ≤
      (R - r) * posPart (mu * ((1 - s) * L + s * L⁻¹) - 1) + (r - L) * posPart (mu * ((1 - s) * R + s * R⁻¹) - 1) := by
  have hr : 0 < r := by grind
  have hR : 0 < R := by grind
  have h1 := posPart_convex (a := mu * ((1 - s) * L + s * L⁻¹) - 1) (b := mu * ((1 - s) * R + s * R⁻¹) - 1)
    (t := R - r) (s := r - L) (by grind) (by grind)
  have hconv : (R - L) * r⁻¹ ≤ (R - r) * L⁻¹ + (r - L) * R⁻¹ := by
    refine le_of_mul (mul_ps hr (mul_ps hL hR)) ?_
    have e1 : r * (L * R) * ((R - L) * r⁻¹) = L * R * (R - L) := by grind
    have e2 : r * (L * R) * ((R - r) * L⁻¹ + (r - L) * R⁻¹) = r * R * (R - r) + r * L * (r - L) := by grind
    rw [e1, e2]
    have := mul_nn (mul_nn (a := R - r) (b := r - L) (by grind) (by grind)) (b := R - L) (by grind)
    grind
  have h2 := mul_le_left (mul_nn hmu hs0) hconv
  rw [← posPart_mul (by grind)]
  have h3 := posPart_cases ((R - L) * (mu * ((1 - s) * r + s * r⁻¹) - 1))
  have h4 := posPart_cases ((R - r) * (mu * ((1 - s) * L + s * L⁻¹) - 1) + (r - L) * (mu * ((1 - s) * R + s * R⁻¹) - 1))
  have h5 : (R - L) * (mu * ((1 - s) * r + s * r⁻¹) - 1) ≤
      (R - r) * (mu * ((1 - s) * L + s * L⁻¹) - 1) + (r - L) * (mu * ((1 - s) * R + s * R⁻¹) - 1) := by grind
  have h6 : posPart ((R - L) * (mu * ((1 - s) * r + s * r⁻¹) - 1)) ≤
      posPart ((R - r) * (mu * ((1 - s) * L + s * L⁻¹) - 1) + (r - L) * (mu * ((1 - s) * R + s * R⁻¹) - 1)) := by grind
  exact Std.le_trans h6 h1

/-- Above the threshold of the bin the hinge of a token is its affine part. -/
theorem hinge_le_exact {L R r mu s : α} (hL : 0 < L) (hLr : L ≤ r) (hrR : r ≤ R) (hs0 : 0 ≤ s) (hs1 : s ≤ 1)
    (hmu : 0 ≤ mu) (h : 1 ≤ mu * ((1 - s) * L + s * R⁻¹)) :
    posPart (mu * ((1 - s) * r + s * r⁻¹) - 1) = mu * ((1 - s) * r + s * r⁻¹) - 1 := by
  have hr : 0 < r := by grind
  have hR : 0 < R := by grind
  have hi : R⁻¹ ≤ r⁻¹ := by
    refine le_of_mul (mul_ps hr hR) ?_
    have e1 : r * R * R⁻¹ = r := by grind
    have e2 : r * R * r⁻¹ = R := by grind
    rw [e1, e2]; exact hrR
  have h1 := mul_le_left (mul_nn hmu (b := 1 - s) (by grind)) hLr
  have h2 := mul_le_left (mul_nn hmu hs0) hi
  have h3 := posPart_cases (mu * ((1 - s) * r + s * r⁻¹) - 1)
  grind

/-- **Moment-bin certificate**: keep for every bin its mass and the sums of `p r` and `p / r`; the dual cell certificate
with the hinge sums of the bins is sound. -/
theorem tv_le_moment_cells {κ : Type w} {I : List ι} {p r w : ι → α} {K : List κ} {bin : ι → κ} {L R : κ → α}
    {cells : List (Cell α)} {T : α}
    (hp : IsDist I p)
    (hw : InRatio I r w)
    (hK : K.Nodup)
    (hbin : ∀ i ∈ I, bin i ∈ K)
    (hL : ∀ i ∈ I, 0 < L (bin i) ∧ L (bin i) ≤ r i)
    (hR : ∀ i ∈ I, r i ≤ R (bin i))
    (hcover : Covers cells)
    (hcell : ∀ c ∈ cells, 0 ≤ c.lo ∧ c.lo ≤ 1 ∧ 0 ≤ c.hi ∧ c.hi ≤ 1 ∧ 0 ≤ c.mu)
    (hT : ∀ c ∈ cells, ∀ s, (s = c.lo ∨ s = c.hi) →
      s - momentPrice K L R (fun k => sumIf (fun i => bin i = k) I p) (fun k => sumIf (fun i => bin i = k) I fun i => p i * r i)
        (fun k => sumIf (fun i => bin i = k) I fun i => p i * (r i)⁻¹) c.mu s ≤ T) :
    tv I (tilt I p w) p ≤ T := by
  have price : ∀ mu s, 0 ≤ mu → 0 ≤ s → s ≤ 1 →
      momentPrice K L R (fun k => sumIf (fun i => bin i = k) I p) (fun k => sumIf (fun i => bin i = k) I fun i => p i * r i)
        (fun k => sumIf (fun i => bin i = k) I fun i => p i * (r i)⁻¹) mu s ≤ priceLine I p (fun i => (r i)⁻¹) r mu s := by
    intro mu s hmu h0 h1
    unfold momentPrice priceLine
    have e : (sumOver K fun k => sumIf (fun i => bin i = k) I fun i => p i * (r i)⁻¹) = sumOver I fun i => p i * (r i)⁻¹ :=
      sum_bins hK hbin _
    rw [e, ← sum_bins hK hbin (fun i => p i * posPart (mu * ((1 - s) * r i + s * (r i)⁻¹) - 1))]
    have : (sumOver K fun k => sumIf (fun i => bin i = k) I fun i => p i * posPart (mu * ((1 - s) * r i + s * (r i)⁻¹) - 1)) ≤
        sumOver K fun k => binHinge (L k) (R k) (sumIf (fun i => bin i = k) I p)
          (sumIf (fun i => bin i = k) I fun i => p i * r i) (sumIf (fun i => bin i = k) I fun i => p i * (r i)⁻¹) mu s := by
      refine sumOver_le fun k hk => ?_
      unfold binHinge
      by_cases hc : 1 ≤ mu * ((1 - s) * L k + s * (R k)⁻¹)
      · simp only [hc, if_true]
        have e2 : mu * ((1 - s) * (sumIf (fun i => bin i = k) I fun i => p i * r i) +
            s * (sumIf (fun i => bin i = k) I fun i => p i * (r i)⁻¹)) - sumIf (fun i => bin i = k) I p =
            sumIf (fun i => bin i = k) I fun i => p i * (mu * ((1 - s) * r i + s * (r i)⁻¹) - 1) := by
          unfold sumIf
          rw [← sumOver_mul, ← sumOver_mul, ← sumOver_add, ← sumOver_mul, ← sumOver_sub]
          exact sumOver_congr fun i _ => by by_cases hb : bin i = k <;> simp [hb] <;> grind
        rw [e2]
        refine sumIf_le fun i hi hb => ?_
        subst hb
        rw [hinge_le_exact (hL i hi).1 (hL i hi).2 (hR i hi) h0 h1 hmu hc]
        exact Std.le_refl _
      · simp only [hc, if_false]
        by_cases hkk : L k < R k
        case neg =>
          simp only [hkk, if_false]
          unfold sumIf
          rw [← sumOver_mul]
          refine sumOver_le fun i hi => ?_
          by_cases hb : bin i = k
          · have hr : r i = R k := by subst hb; have := hL i hi; have := hR i hi; grind
            simp only [hb, if_true, hr]
            grind
          · simp only [hb, if_false]
            grind
        simp only [hkk, if_true]
        refine le_div (by grind) ?_
        generalize hA : posPart (mu * ((1 - s) * L k + s * (L k)⁻¹) - 1) = A
        generalize hB : posPart (mu * ((1 - s) * R k + s * (R k)⁻¹) - 1) = B
        have e3 : A * (sumIf (fun i => bin i = k) I p * R k - sumIf (fun i => bin i = k) I fun i => p i * r i) +
            B * ((sumIf (fun i => bin i = k) I fun i => p i * r i) - sumIf (fun i => bin i = k) I p * L k) =
            sumIf (fun i => bin i = k) I fun i => p i * ((R k - r i) * A + (r i - L k) * B) := by
          unfold sumIf
          rw [← sumOver_mul_right, ← sumOver_mul_right, ← sumOver_sub, ← sumOver_sub, ← sumOver_mul, ← sumOver_mul, ← sumOver_add]
          exact sumOver_congr fun i _ => by by_cases hb : bin i = k <;> simp [hb] <;> grind
        rw [e3]
        unfold sumIf
        rw [← sumOver_mul_right]
        refine sumOver_le fun i hi => ?_
        by_cases hb : bin i = k
        · simp only [hb, if_true]
          subst hb
          have := hinge_le_chord (hL i hi).1 (hL i hi).2 (hR i hi) hkk h0 hmu
          rw [hA, hB] at this
          have := mul_le_left (hp.nonneg i hi) this
          grind
        · simp only [hb, if_false]
          grind
    grind
  refine tv_le_of_gain hp hw.inBox fun x hx => ?_
  obtain ⟨s, h0, h1, hs⟩ := gain_le_price hp hw.inBox.pos hw.inBox.le hx
  obtain ⟨c, hc, hl, hr⟩ := hcover s h0 h1
  obtain ⟨c1, c2, c3, c4, c5⟩ := hcell c hc
  refine Std.le_trans (hs c.mu) (price_cell hp hl hr ?_ ?_)
  · have := price c.mu c.lo c5 c1 c2
    have := hT c hc c.lo (Or.inl rfl)
    grind
  · have := price c.mu c.hi c5 c3 c4
    have := hT c hc c.hi (Or.inr rfl)
    grind

example : tv tok (tilt tok half ext) half ≤ 1 := by
  refine tv_le_moment_cells (bin := fun _ => ()) (K := [()]) (L := fun _ => 1) (R := fun _ => 3) (cells := [⟨0, 1, 0⟩])
    half_isDist ext_inRatio (by simp) (fun _ _ => by simp) (fun i _ => by cases i <;> simp [rad] <;> grind)
    (fun i _ => by cases i <;> simp [rad] <;> grind)
    (fun s h0 h1 => ⟨⟨0, 1, 0⟩, by simp, h0, h1⟩) (fun c hc => ?_) (fun c hc s hs => ?_)
  · simp only [List.mem_singleton] at hc
    subst hc
    grind
  · simp only [List.mem_singleton] at hc
    subst hc
    have h := posPart_cases ((0 : Rat) - 1)
    have h1 : ¬ (1 : Rat) ≤ 0 := by grind
    have h3 : (1 : Rat) < 3 := by grind
    simp only [momentPrice, binHinge, sumOver, Semiring.zero_mul, h1, h3, if_true, if_false]
    have h2 : posPart ((0 : Rat) - 1) = 0 := by grind
    rw [h2]
    grind

end ProofKV
end

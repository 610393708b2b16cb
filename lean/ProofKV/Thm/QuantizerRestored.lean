module

public import ProofKV.Base
public import ProofKV.Spec.Restore
import ProofKV.Lemmas.Witness

/-! The error of a restored number from its stored code and scale. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Restored number**: let the code `c` be a nearest integer of `(x - oIn) / d`, or the clamped end beyond which that
lies, let `x` lie in `[low, high]`, and let the reader return `s c + oOut` within the relative error `roundoff`. Then the
restored `x'` is within the encoder's error, plus the mismatch of scales times the code, plus the mismatch of offsets,
plus the roundoff. -/
theorem quantizer_restored_le {x x' d s c oIn oOut cMin cMax low high roundoff : α}
    (scales_positive : 0 < d ∧ 0 < s)
    (code_is_nearest_or_clamped : absV ((x - oIn) / d - c) ≤ 1 / 2 ∨ (c = cMax ∧ c ≤ (x - oIn) / d) ∨
      (c = cMin ∧ (x - oIn) / d ≤ c))
    (value_in_group_range : low ≤ x ∧ x ≤ high)
    (dequantization_roundoff : absV (x' - (s * c + oOut)) ≤ roundoff * absV (s * c + oOut)) :
    absV (x - x') ≤ encoderError d c oIn cMin cMax low high + (absV (d - s) * absV c + absV (oIn - oOut)) +
      roundoff * absV (s * c + oOut) := by
  have h0 := one_pos (α := α)
  have hd := scales_positive.1
  have e : d * ((x - oIn) / d) = x - oIn := mul_div_self hd
  have henc : absV (x - (d * c + oIn)) ≤ encoderError d c oIn cMin cMax low high := by
    have m1 := maxV_cases (d / 2) (maxV (if cMax ≤ c then high - (d * c + oIn) else d / 2)
      (if c ≤ cMin then d * c + oIn - low else d / 2))
    have m2 := maxV_cases (if cMax ≤ c then high - (d * c + oIn) else d / 2)
      (if c ≤ cMin then d * c + oIn - low else d / 2)
    unfold encoderError
    rcases code_is_nearest_or_clamped with h | ⟨h1, h2⟩ | ⟨h1, h2⟩
    · have h3 := absV_le.mp h
      have h4 := mul_le_left (Std.le_of_lt hd) h3.1
      have h5 := mul_le_left (Std.le_of_lt hd) h3.2
      refine Std.le_trans (absV_le.mpr ⟨?_, ?_⟩) m1.1 <;> grind
    · have h3 := mul_le_left (Std.le_of_lt hd) h2
      have h4 : cMax ≤ c := by rw [h1]; exact Std.le_refl _
      simp only [h4, if_true] at m1 m2 ⊢
      refine Std.le_trans ((absV_le (u := high - (d * c + oIn))).mpr ⟨?_, ?_⟩) (Std.le_trans m2.1 m1.2.1) <;> grind
    · have h3 := mul_le_left (Std.le_of_lt hd) h2
      have h4 : c ≤ cMin := by rw [h1]; exact Std.le_refl _
      simp only [h4, if_true] at m1 m2 ⊢
      refine Std.le_trans ((absV_le (u := d * c + oIn - low)).mpr ⟨?_, ?_⟩) (Std.le_trans m2.2.1 m1.2.1) <;> grind
  have h1 := absV_add_le (x - (d * c + oIn)) ((d - s) * c + (oIn - oOut) + ((s * c + oOut) - x'))
  have h2 := absV_add_le ((d - s) * c + (oIn - oOut)) ((s * c + oOut) - x')
  have h3 := absV_add_le ((d - s) * c) (oIn - oOut)
  have h4 := absV_mul (d - s) c
  have h5 : absV ((s * c + oOut) - x') = absV (x' - (s * c + oOut)) := by
    rcases absV_cases ((s * c + oOut) - x') with h | h <;> rcases absV_cases (x' - (s * c + oOut)) with h' | h' <;> grind
  have e2 : x - (d * c + oIn) + ((d - s) * c + (oIn - oOut) + ((s * c + oOut) - x')) = x - x' := by grind
  rw [e2] at h1
  grind

example : absV ((7 / 5 : Rat) - 1) ≤ encoderError 1 1 0 (-8) 7 (-8) 7 + (absV (1 - 1) * absV 1 + absV (0 - 0)) +
    0 * absV (1 * 1 + 0) := by
  refine quantizer_restored_le ⟨by grind, by grind⟩ (Or.inl (absV_le.mpr ?_)) ⟨by grind, by grind⟩ (absV_le.mpr ?_) <;> grind

end ProofKV
end

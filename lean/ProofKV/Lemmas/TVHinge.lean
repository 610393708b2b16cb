module

public import ProofKV.Lemmas.TVMean

/-! Lemmas behind the hinge bound: clipped ratios, tangent lines, and the scalar core. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The part of the hinge bound that a lowered rest can lose: a tangent line of `d ↦ d / (κ (κ + d))`. -/
theorem hinge_tangent {κ r : α} (hκ : 1 ≤ κ) (hr : 0 < r) (E : α) :
    (κ + E) * (κ + E) * (κ * posPart (κ⁻¹ - r⁻¹)) ≤ E * E + κ * posPart (r - κ) := by
  have h0 := one_pos (α := α)
  have hk0 : 0 < κ := by grind
  have hE2 := sq_nn E
  have e : r * (κ * (κ⁻¹ - r⁻¹)) = r - κ := by grind
  rcases posPart_cases (κ⁻¹ - r⁻¹) with ⟨g0, g1, h | h⟩
  · have hd : 0 ≤ r * (κ * (κ⁻¹ - r⁻¹)) := mul_nn (Std.le_of_lt hr) (mul_nn (by grind) (by grind))
    rw [e] at hd
    have h1 : posPart (r - κ) = r - κ := by have := posPart_cases (r - κ); grind
    rw [h, h1]
    refine le_of_mul hr ?_
    have e3 : r * ((κ + E) * (κ + E) * (κ * (κ⁻¹ - r⁻¹))) = (κ + E) * (κ + E) * (r * (κ * (κ⁻¹ - r⁻¹))) := by grind
    rw [e3, e]
    have h4 := mul_nn (a := κ) (by grind) (sq_nn (r - κ - E))
    grind
  · rw [h]
    have h5 := posPart_cases (r - κ)
    have := mul_nn (a := κ) (b := posPart (r - κ)) (by grind) (by grind)
    grind

/-- What a lowered rest loses is at most its excess over the cap, divided by the squared cap. -/
theorem hinge_drop {κ r : α} (hκ : 1 ≤ κ) (hr : 0 < r) : κ * κ * posPart (κ⁻¹ - r⁻¹) ≤ posPart (r - κ) := by
  have h0 := one_pos (α := α)
  have hk0 : 0 < κ := by grind
  have e : r * (κ * (κ⁻¹ - r⁻¹)) = r - κ := by grind
  rcases posPart_cases (κ⁻¹ - r⁻¹) with ⟨g0, g1, h | h⟩
  · have hd : 0 ≤ r * (κ * (κ⁻¹ - r⁻¹)) := mul_nn (Std.le_of_lt hr) (mul_nn (by grind) (by grind))
    rw [e] at hd
    have h1 : posPart (r - κ) = r - κ := by have := posPart_cases (r - κ); grind
    rw [h, h1]
    refine le_of_mul hr ?_
    have e3 : r * (κ * κ * (κ⁻¹ - r⁻¹)) = κ * (r * (κ * (κ⁻¹ - r⁻¹))) := by grind
    rw [e3, e]
    have := mul_le_right hd (a := κ) (b := r) (by grind)
    grind
  · rw [h]
    have h5 := posPart_cases (r - κ)
    grind

/-- The scalar core of the hinge bound. -/
theorem hinge_core {κ E P Q x y e f g : α} (hκ : 1 ≤ κ) (hEκ : E ≤ κ) (hP : 0 ≤ P) (hQ : 0 ≤ Q) (hPQ : P + Q = 1)
    (hx : 0 ≤ x) (he : 0 ≤ e) (hf : 0 ≤ f) (hg : 0 ≤ g) (hE : e + g = E) (hxP : x ≤ κ * P) (hPx : P ≤ κ * x)
    (hQy : Q ≤ κ * y) (hfy : f ≤ y) (hfg : κ * κ * f ≤ g) (htan : (κ + E) * (κ * f) ≤ E)
    (hd : 0 < x + e + (y - f)) :
    (x + e) / (x + e + (y - f)) - P ≤ (κ - 1) / (κ + 1) + κ * E / (1 + κ * E) := by
  have h0 := one_pos (α := α)
  have hk0 : 0 < κ := by grind
  have hEn : 0 ≤ E := by grind
  have hκE := mul_nn (Std.le_of_lt hk0) hEn
  have hZ : 1 ≤ κ * (x + y) := by grind
  have hZ0 : 0 < x + y := by
    by_cases z : x + y = 0
    · rw [z] at hZ; grind
    · grind
  have hy : 0 ≤ y := by grind
  have o1 := gain_le_odds hκ hP hQ hPQ hx hy hZ0 (by
    have := mul_le_both hx (d := κ * y) (by have := mul_nn (Std.le_of_lt hk0) hy; grind) hxP hQy
    grind)
  have main : (x + e) / (x + e + (y - f)) - x / (x + y) ≤ κ * E / (1 + κ * E) := by
    clear o1 hxP hPx hQy hP hQ hPQ
    rcases Std.le_total (a := f) (b := e) with hfe | hfe
    · have s1 : (x + e) / (x + e + (y - f)) - x / (x + y) ≤ e / (x + e + (y - f)) := by
        have : (x + e) / (x + e + (y - f)) = x / (x + e + (y - f)) + e / (x + e + (y - f)) := by grind
        have : x / (x + e + (y - f)) ≤ x / (x + y) :=
          div_le_div_cross hd hZ0 (mul_le_left hx (by grind))
        grind
      refine Std.le_trans s1 (div_le_div_cross hd (by grind) ?_)
      clear s1 htan hfy
      have t1 := mul_le_left hEn hZ
      have t2 := mul_le_left (mul_nn (Std.le_of_lt hk0) hf) hEκ
      grind
    · have s1 : (x + e) / (x + e + (y - f)) = 1 - (y - f) / (x + e + (y - f)) := by grind
      have s2 : (y - f) / (x + y) ≤ (y - f) / (x + e + (y - f)) :=
        div_le_div_cross hZ0 hd (mul_le_left (by grind) (by grind))
      have s3 : x / (x + y) = 1 - (y - f) / (x + y) - f / (x + y) := by grind
      have s4 : f / (x + y) ≤ κ * f := div_le hZ0 (by have := mul_le_left hf hZ; grind)
      have s5 : κ * f ≤ E / (κ + E) := le_div (by grind) (by grind)
      have s6 : E / (κ + E) ≤ κ * E / (1 + κ * E) := by
        refine div_le_div_cross (by grind) (by grind) ?_
        have := mul_le_both (a := 1) (b := κ) (c := 1) (d := κ) (by grind) (by grind) hκ hκ
        have := mul_le_left hEn this
        grind
      grind
  grind

/-- A factor cancels against its inverse on the smaller side. -/
theorem cancel_le {c k k' m : α} (h : k * k' = 1) (h2 : c * k * k' ≤ c * k * m) : c ≤ k * (c * m) := by
  have e : c * k * k' = c := by grind
  rw [e] at h2
  grind

end ProofKV
end

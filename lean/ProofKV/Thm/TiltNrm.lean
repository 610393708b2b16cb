module

public import ProofKV.Lemmas.Output
public import ProofKV.Lemmas.Witness

/-! Tilting the compressed softmax by the weight ratios gives the exact softmax. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Exact softmax as a tilt**: with positive compressed weights `c` and exact weights `a`, tilting the compressed softmax by the
ratios `a / c` is the exact softmax. -/
theorem tilt_nrm_eq {I : List ι} {a c : ι → α}
    (hc : ∀ i ∈ I, 0 < c i)
    (hne : I ≠ []) :
    ∀ i ∈ I, tilt I (nrm I c) (fun i => a i / c i) i = nrm I a i := by
  intro i hi
  have hC := sumOver_ps hne hc
  have h1 : ∀ j ∈ I, nrm I c j * (a j / c j) = a j / sumOver I c := fun j hj => by
    have := hc j hj; unfold nrm; grind
  unfold tilt
  rw [sumOver_congr h1, h1 i hi, sumOver_div]
  unfold nrm
  generalize sumOver I a = A
  by_cases h : A = 0
  · subst h
    have : (0 : α) / sumOver I c = 0 := by grind
    rw [this, Field.div_eq_mul_inv, Field.div_eq_mul_inv (a i) 0, Field.inv_zero]; grind
  · grind

example : ∀ i ∈ tok, tilt tok (nrm tok rad) (fun i => ext i / rad i) i = nrm tok ext i :=
  tilt_nrm_eq (fun i _ => by cases i <;> simp [rad] <;> grind) (by simp [tok])

end ProofKV
end

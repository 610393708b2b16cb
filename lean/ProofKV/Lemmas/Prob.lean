module

public import ProofKV.Base
public import ProofKV.Spec.Prob

/-! Lemmas on finite expectations. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- Expectations condition on the first token. -/
theorem expect_cons (π : ι → α) (i : ι) (I : List ι) (g : List ι → α) :
    expect π (i :: I) g = π i * expect π I (fun S => g (i :: S)) + (1 - π i) * expect π I g := by
  unfold expect
  simp only [samples]
  rw [sumOver_append, sumOver_map, sumOver_map, ← sumOver_mul, ← sumOver_mul]
  rw [sumOver_congr (f := fun j : α × List ι => π i * j.1 * g (i :: j.2)) (g := fun j => π i * (j.1 * g (i :: j.2))) fun j _ => by grind,
    sumOver_congr (f := fun j : α × List ι => (1 - π i) * j.1 * g j.2) (g := fun j => (1 - π i) * (j.1 * g j.2)) fun j _ => by grind]

/-- Expectations add. -/
theorem expect_add (π : ι → α) (I : List ι) (f g : List ι → α) :
    expect π I (fun S => f S + g S) = expect π I f + expect π I g := by
  unfold expect
  rw [← sumOver_add]
  exact sumOver_congr fun s _ => by grind

/-- The expectation of a constant. -/
theorem expect_const (π : ι → α) (c : α) : ∀ I : List ι, expect π I (fun _ => c) = c
  | [] => by simp only [expect, samples, sumOver]; grind
  | i :: I => by rw [expect_cons, expect_const π c I]; grind

/-- The second moment of a constant plus an inclusion-weighted sum. -/
theorem expect_ht_sq {π y : ι → α} : ∀ {I : List ι} (_ : ∀ i ∈ I, π i ≠ 0) (c : α),
    expect π I (fun S => (c + horvitzThompson π y S) * (c + horvitzThompson π y S)) =
      sumOver I (fun i => (1 - π i) / π i * (y i * y i)) + (c + sumOver I y) * (c + sumOver I y)
  | [], _, c => by simp only [expect, samples, sumOver, horvitzThompson]; grind
  | i :: I, h, c => by
    have hi := h i (by simp)
    have hI : ∀ j ∈ I, π j ≠ 0 := fun j hj => h j (by simp [hj])
    rw [expect_cons]
    have e : (fun S => (c + horvitzThompson π y (i :: S)) * (c + horvitzThompson π y (i :: S))) =
        fun S => (c + y i / π i + horvitzThompson π y S) * (c + y i / π i + horvitzThompson π y S) := by
      funext S
      simp only [horvitzThompson, sumOver]
      grind
    rw [e, expect_ht_sq hI, expect_ht_sq hI]
    simp only [sumOver]
    generalize sumOver I y = Y
    generalize (sumOver I fun i => (1 - π i) / π i * (y i * y i)) = V
    grind

/-- The mean of an inclusion-weighted sum. -/
theorem expect_sum_div {π z : ι → α} : ∀ {I : List ι} (_ : ∀ i ∈ I, π i ≠ 0),
    expect π I (fun S => sumOver S fun i => z i / π i) = sumOver I z
  | [], _ => by simp only [expect, samples, sumOver]; grind
  | i :: I, h => by
    have hi := h i (by simp)
    have hI : ∀ j ∈ I, π j ≠ 0 := fun j hj => h j (by simp [hj])
    rw [expect_cons, expect_sum_div hI]
    simp only [sumOver]
    rw [expect_add, expect_const, expect_sum_div hI]
    grind

/-- The finite union bound. -/
theorem prob_union_le {κ : Type w} {I : List ι} {J : List κ} {p : ι → α} {A : κ → ι → Prop} (hp : ∀ i ∈ I, 0 ≤ p i) :
    prob I p (fun i => ∃ j ∈ J, A j i) ≤ sumOver J fun j => prob I p (A j) := by
  unfold prob sumIf
  rw [sumOver_comm]
  refine sumOver_le fun i hi => ?_
  have hnn : ∀ j ∈ J, 0 ≤ if A j i then p i else 0 := fun j _ => by
    have := hp i hi; by_cases h : A j i <;> simp only [h, if_true, if_false] <;> grind
  by_cases h : ∃ j ∈ J, A j i
  · have ⟨j, hj, ha⟩ := h
    have h1 := le_sumOver (f := fun j => if A j i then p i else 0) hj hnn
    simp only [ha, if_true] at h1
    simp only [h, if_true]
    exact h1
  · simp only [h, if_false]
    exact sumOver_nn hnn

end ProofKV
end

module

public import ProofKV.Base
public import ProofKV.Spec.Softmax
public import ProofKV.Spec.Probability

/-! Probabilities and histories over finite lists. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- Natural numbers as field elements are non-negative. -/
theorem ofCount_nn : ∀ n : Nat, (0 : α) ≤ ofCount n
  | 0 => Std.le_refl _
  | n + 1 => by
    have h : (0 : α) ≤ ofCount n := ofCount_nn n
    have := one_pos (α := α)
    simp only [ofCount]; grind

/-- Positive natural numbers as field elements are positive. -/
theorem ofCount_ps {n : Nat} (h : 0 < n) : (0 : α) < ofCount n := by
  cases n with
  | zero => omega
  | succ n =>
    have h := ofCount_nn (α := α) n
    have := one_pos (α := α)
    simp only [ofCount]; grind

/-- The sum of equal terms. -/
theorem sumOver_const (c : α) : ∀ K : List κ, sumOver K (fun _ => c) = ofCount K.length * c
  | [] => by simp only [sumOver, ofCount, List.length_nil]; grind
  | _ :: K => by simp only [sumOver, List.length_cons, ofCount, sumOver_const c K]; grind

/-- Probabilities are monotone in the event. -/
theorem prob_mono {O : List ι} {P : ι → α} {A B : ι → Prop} (hP : ∀ o ∈ O, 0 ≤ P o) (h : ∀ o ∈ O, A o → B o) :
    prob O P A ≤ prob O P B := by
  refine sumOver_le fun o ho => ?_
  have h1 := hP o ho
  have h2 := h o ho
  by_cases hA : A o
  · have hB := h2 hA
    simp only [hA, hB, if_true]; exact Std.le_refl _
  · by_cases hB : B o <;> simp only [hA, hB, if_true, if_false]
    · exact h1
    · exact Std.le_refl _

/-- Probabilities are non-negative. -/
theorem prob_nn {O : List ι} {P : ι → α} {A : ι → Prop} (hP : ∀ o ∈ O, 0 ≤ P o) : 0 ≤ prob O P A := by
  refine sumOver_nn fun o ho => ?_
  by_cases hA : A o <;> simp only [hA, if_true, if_false]
  · exact hP o ho
  · exact Std.le_refl _

/-- The probability of an event that cannot happen is zero. -/
theorem prob_empty {O : List ι} {P : ι → α} {A : ι → Prop} (h : ∀ o, ¬ A o) : prob O P A = 0 := by
  unfold prob sumIf
  simp only [h, if_false]
  exact sumOver_zero O

/-- The probability of an alternative is at most the sum. -/
theorem prob_or_le {O : List ι} {P : ι → α} {A B : ι → Prop} (hP : ∀ o ∈ O, 0 ≤ P o) :
    prob O P (fun o => A o ∨ B o) ≤ prob O P A + prob O P B := by
  unfold prob sumIf
  rw [← sumOver_add]
  refine sumOver_le fun o ho => ?_
  have := hP o ho
  by_cases hA : A o <;> by_cases hB : B o <;>
    simp only [hA, hB, or_self, or_true, true_or, if_true, if_false] <;> grind

/-- The mean over histories is monotone. -/
theorem historyMean_le {O : List ι} {P : List ι → ι → α} {f g : List ι → α} (hP : ∀ h, ∀ o ∈ O, 0 ≤ P h o) :
    ∀ (n : Nat) (h : List ι), (∀ h, f h ≤ g h) → historyMean O P f n h ≤ historyMean O P g n h
  | 0, h, hfg => hfg h
  | n + 1, h, hfg => sumOver_le fun o ho => mul_le_left (hP h o ho) (historyMean_le hP n (o :: h) hfg)

/-- The mean of a constant over histories. -/
theorem historyMean_const {O : List ι} {P : List ι → ι → α} (hP : ∀ h, sumOver O (P h) = 1) (c : α) :
    ∀ (n : Nat) (h : List ι), historyMean O P (fun _ => c) n h = c
  | 0, _ => rfl
  | n + 1, h => by
    have e : historyMean O P (fun _ => c) (n + 1) h = sumOver O fun o => P h o * c :=
      sumOver_congr fun o _ => by rw [historyMean_const hP c n (o :: h)]
    rw [e, sumOver_mul_right, hP]
    grind

/-- An indicator lies between zero and one. -/
theorem indicator_mem (A : ι → Prop) (i : ι) : (0 : α) ≤ indicator A i ∧ (indicator A i : α) ≤ 1 := by
  have := one_pos (α := α)
  unfold indicator
  by_cases h : A i <;> simp only [h, if_true, if_false] <;> grind

end ProofKV
end

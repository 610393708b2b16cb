module

public import ProofKV.Lemmas.Logits

/-! The final RMSNorm does not change which logit is larger. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Final norm**: dividing the hidden state by a positive root mean square does not change the sign of a difference of two logits, so its
error needs no bound. With a bias this is false. -/
theorem final_norm_logit_lt_iff {I : List ι} {a b g x : ι → α} {r : α}
    (hr : 0 < r) :
    dot I a (fun i => g i * (x i / r)) < dot I b (fun i => g i * (x i / r)) ↔
      dot I a (fun i => g i * x i) < dot I b (fun i => g i * x i) := by
  have e : ∀ c : ι → α, dot I c (fun i => g i * (x i / r)) = dot I c (fun i => g i * x i) / r := fun c => by
    unfold dot
    rw [← sumOver_div]
    exact sumOver_congr fun i _ => by grind
  rw [e, e]
  generalize dot I a (fun i => g i * x i) = A
  generalize dot I b (fun i => g i * x i) = B
  have hA := mul_div_self (a := A) hr
  have hB := mul_div_self (a := B) hr
  constructor
  · intro h
    have := OrderedRing.mul_lt_mul_of_pos_left h hr
    grind
  · intro h
    by_cases h' : A / r < B / r
    · exact h'
    · have := mul_le_left (Std.le_of_lt hr) (a := B / r) (b := A / r) (by grind)
      grind

example : dot [()] (fun _ => (1 : Rat)) (fun _ => 1 * (3 / 2)) < dot [()] (fun _ => 2) (fun _ => 1 * (3 / 2)) :=
  (final_norm_logit_lt_iff (by grind)).mpr (by simp only [dot, sumOver]; grind)

end ProofKV
end

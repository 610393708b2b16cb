module

public import ProofKV.Lemmas.Check

/-! The checker of a failure budget is sound. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Ledger checker**: when it accepts, the failure probabilities add up to at most the budget; and so does every prefix that was spent. -/
theorem checkLedger_sound {spent : List Rat} {budget : Rat}
    (haccept : checkLedger spent budget = true) :
    ∀ n, sumOver (spent.take n) id ≤ budget := by
  simp only [checkLedger, Bool.and_eq_true, List.all_eq_true, decide_eq_true_eq] at haccept
  have ⟨hnn, hsum⟩ := haccept
  have e : ∀ L : List Rat, L.foldr (· + ·) 0 = sumOver L id := by
    intro L
    induction L with
    | nil => rfl
    | cons a L ih => simp only [List.foldr_cons, sumOver, id, ih]
  rw [e] at hsum
  intro n
  have h1 := sumOver_append (id : Rat → Rat) (spent.take n) (spent.drop n)
  rw [List.take_append_drop] at h1
  have h2 : 0 ≤ sumOver (spent.drop n) id := sumOver_nn fun i hi => hnn i (List.mem_of_mem_drop hi)
  grind

example : checkLedger [1 / 100, 1 / 200] (1 / 50) = true := by decide +kernel

end ProofKV
end

module

public import ProofKV.Thm.Ville
import ProofKV.Lemmas.Witness

/-! An anytime bound by betting. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Anytime bound by betting**: let every step have a mean loss of at most `m` given the history, and let the bets be
non-negative and keep the wealth non-negative. Then the wealth reaches `a` within `n` steps with probability at most
`1 / a`, for every `n`; the bets may depend on the history. -/
theorem wealth_reach_prob_le {O : List ι} {P : List ι → ι → α} {X : ι → α} {m a : α} {bet : List ι → α}
    (hP : ∀ h, IsDist O (P h))
    (hmean : ∀ h, mean O (P h) X ≤ m)
    (hbet : ∀ h, 0 ≤ bet h)
    (hsafe : ∀ h o, 0 ≤ 1 + bet h * (X o - m))
    (ha : 0 < a) (n : Nat) :
    historyMean O P (indicator (Reaches (wealth X m bet) a)) n [] ≤ 1 / a := by
  have h0 := one_pos (α := α)
  have hnn : ∀ h, 0 ≤ wealth X m bet h := by
    intro h
    induction h with
    | nil => simp only [wealth]; grind
    | cons o h ih => exact mul_nn ih (hsafe h o)
  have hM : IsSupermartingale O P (wealth X m bet) := ⟨hP, hnn, fun h => by
    have h1 := (hP h).total
    have h2 := hmean h
    have e : (mean O (P h) fun o => wealth X m bet (o :: h)) =
        wealth X m bet h * (1 + bet h * (mean O (P h) X - m)) := by
      have e1 : (mean O (P h) fun o => wealth X m bet (o :: h)) =
          sumOver O fun o => P h o * (wealth X m bet h * (1 - bet h * m)) +
            wealth X m bet h * bet h * (P h o * X o) := sumOver_congr fun o _ => by simp only [wealth]; grind
      rw [e1, sumOver_add, sumOver_mul_right, sumOver_mul, h1]
      unfold mean
      grind
    have h3 := mul_le_left (hbet h) (a := mean O (P h) X - m) (b := 0) (by grind)
    have h4 := mul_le_left (hnn h) (a := 1 + bet h * (mean O (P h) X - m)) (b := 1) (by grind)
    grind⟩
  have h5 := reach_prob_le hM (Std.le_of_lt ha) n
  refine le_div ha ?_
  simp only [wealth] at h5
  grind

example (n : Nat) : historyMean tok (fun _ => half)
    (indicator (Reaches (wealth (fun b => if b then (1 : Rat) else 0) (1 / 2) fun _ => 1) 20)) n [] ≤ 1 / 20 :=
  wealth_reach_prob_le (fun _ => half_isDist) (fun _ => by simp [mean, tok, half, sumOver]; grind) (fun _ => by grind)
    (fun _ o => by cases o <;> simp <;> grind) (by grind) n

end ProofKV
end

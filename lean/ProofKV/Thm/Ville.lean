module

public import ProofKV.Lemmas.Probability
import ProofKV.Lemmas.Witness

/-! Ville's inequality over finitely many steps. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Ville, finite**: a non-negative supermartingale that starts at `M []` reaches `a` within `n` steps with
probability at most `M [] / a`, written without division. The step probabilities may depend on the whole history. -/
theorem reach_prob_le {O : List ι} {P : List ι → ι → α} {M : List ι → α} {a : α}
    (hM : IsSupermartingale O P M)
    (ha : 0 ≤ a) (n : Nat) :
    a * historyMean O P (indicator (Reaches M a)) n [] ≤ M [] := by
  have hnn : ∀ h, ∀ o ∈ O, 0 ≤ P h o := fun h => (hM.dist h).nonneg
  have h1 : ∀ (n : Nat) (h : List ι), historyMean O P (indicator (Reaches M a)) n h ≤ 1 := fun n h => by
    have := historyMean_le (f := indicator (Reaches M a)) (g := fun _ => (1 : α)) hnn n h
      fun h => (indicator_mem _ h).2
    rw [historyMean_const (fun h => (hM.dist h).total)] at this
    exact this
  have key : ∀ (n : Nat) (h : List ι), (∀ s, s <:+ h → s ≠ h → ¬ a ≤ M s) →
      a * historyMean O P (indicator (Reaches M a)) n h ≤ M h := by
    intro n
    induction n with
    | zero =>
      intro h hh
      by_cases hr : a ≤ M h
      · have := mul_le_left ha (h1 0 h); grind
      · have : ¬ Reaches M a h := fun ⟨s, hs, hsa⟩ => by
          by_cases e : s = h
          · exact hr (e ▸ hsa)
          · exact hh s hs e hsa
        have h2 := hM.nonneg h
        simp only [historyMean, indicator, this, if_false]
        grind
    | succ n ih =>
      intro h hh
      by_cases hr : a ≤ M h
      · have := mul_le_left ha (h1 (n + 1) h); grind
      · refine Std.le_trans ?_ (hM.step h)
        unfold mean
        simp only [historyMean]
        rw [← sumOver_mul]
        refine sumOver_le fun o ho => ?_
        have h2 := ih (o :: h) fun s hs hne hsa => by
          rcases List.suffix_cons_iff.mp hs with e | hs
          · exact hne e
          · by_cases e : s = h
            · exact hr (e ▸ hsa)
            · exact hh s hs e hsa
        have h3 := mul_le_left (hnn h o ho) h2
        grind
  exact key n [] fun s hs hne => absurd (List.suffix_nil.mp hs) hne

example (n : Nat) : 2 * historyMean tok (fun _ => half) (indicator (Reaches (fun _ => (1 : Rat)) 2)) n [] ≤ 1 :=
  reach_prob_le ⟨fun _ => half_isDist, fun _ => by grind, fun _ => by
    simp only [mean, tok, half, sumOver]; grind⟩ (by grind) n

end ProofKV
end

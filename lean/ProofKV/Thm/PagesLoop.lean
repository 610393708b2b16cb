module

public import ProofKV.Lemmas.Refine

/-! Concrete pages: any strategy that opens a closed page ends with the exact greedy choice. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The refinement process of pages: logits are sums of page contributions, opening a page replaces its estimate by its value. -/
@[expose] noncomputable def pageRefinement {π : Type w} (pages : List π) (c c' r : π → ι → α)
    (hpage : ∀ p ∈ pages, ∀ i, absV (c p i - c' p i) ≤ r p i) (step : (π → Bool) → π → Bool)
    (hstep : ∀ s, pages.countP (fun p => !s p) ≠ 0 → pages.countP (fun p => !step s p) < pages.countP fun p => !s p) :
    Refinement (π → Bool) (fun i => sumOver pages fun p => c p i) where
  est s i := sumOver pages fun p => if s p = true then c p i else c' p i
  rad s i := sumOver pages fun p => if s p = true then 0 else r p i
  left s := pages.countP fun p => !s p
  step := step
  sound s i := by
    have h : absV (sumOver pages (fun p => c p i) - sumOver pages fun p => if s p = true then c p i else c' p i) ≤
        sumOver pages fun p => if s p = true then 0 else r p i := by
      rw [← sumOver_sub]
      refine Std.le_trans (absV_sumOver_le _ _) (sumOver_le fun p hp => ?_)
      by_cases hs : s p = true <;> simp only [hs, if_true, if_false, Bool.false_eq_true]
      · have := absV_cases (c p i - c p i); grind
      · exact hpage p hp i
    have := absV_le.mp h
    grind
  progress := hstep
  exact s h i := by
    refine sumOver_congr fun p hp => ?_
    have := List.countP_eq_zero.mp h p hp
    have hs : s p = true := by simpa using this
    simp only [hs, if_true]

/-- **Pages**: for any strategy that opens at least one closed page in every round, as many rounds as there are pages give the exact greedy
choice. -/
theorem pages_loop_exact {π : Type w} {pages : List π} {c c' r : π → ι → α} {step : (π → Bool) → π → Bool} (b : ι) (I : List ι)
    (s : π → Bool)
    (hpage : ∀ p ∈ pages, ∀ i, absV (c p i - c' p i) ≤ r p i)
    (hstep : ∀ s, pages.countP (fun p => !s p) ≠ 0 → pages.countP (fun p => !step s p) < pages.countP fun p => !s p) :
    (pageRefinement pages c c' r hpage step hstep).loop b I pages.length s = argmaxFrom (fun i => sumOver pages fun p => c p i) b I :=
  Refinement.loop_eq _ b I _ s List.countP_le_length

example : (pageRefinement [()] (fun _ b => if b then (2 : Rat) else 1) (fun _ _ => 0) (fun _ _ => 3)
    (fun _ _ i => absV_le.mpr (by cases i <;> simp <;> grind)) (fun _ _ => true)
    (fun s h => by cases hs : s () <;> simp [hs] at h ⊢)).loop true [false] 1 (fun _ => false) =
      argmaxFrom (fun b => sumOver [()] fun _ => if b then (2 : Rat) else 1) true [false] :=
  pages_loop_exact _ _ _ _ _

end ProofKV
end

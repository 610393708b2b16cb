module

public import ProofKV.Spec.Argmax
public import ProofKV.Spec.Margin
import ProofKV.Lemmas.Argmax
import ProofKV.Lemmas.Logits

/-! The pairwise certificate with an enclosed hidden state, score radii and ties. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The certified margin is at most the exact one. -/
theorem pairMargin_le {κ : Type w} {c i : ι} {K : List κ} {W : ι → κ → α} {g dh : κ → α} {s η r n : ι → α} {ε : α}
    (hn : 0 ≤ n i ∧ dot K (fun k => W c k - W i k) (fun k => W c k - W i k) ≤ n i * n i)
    (hc : absV (η c) ≤ r c)
    (hi : absV (η i) ≤ r i)
    (hidden_state_in_ball : 0 ≤ ε ∧ dot K dh dh ≤ ε * ε) :
    pairMargin K W g s r n ε c i ≤
      (dot K (W c) (fun k => g k + dh k) + (s c + η c)) - (dot K (W i) (fun k => g k + dh k) + (s i + η i)) := by
  have h1 := absV_le.mp (absV_dot_le hn.1 hidden_state_in_ball.1 hn.2 hidden_state_in_ball.2)
  have h2 := absV_le.mp hi
  have h3 := absV_le.mp hc
  have e : dot K (W c) (fun k => g k + dh k) - dot K (W i) (fun k => g k + dh k) =
      dot K (fun k => W c k - W i k) g + dot K (fun k => W c k - W i k) dh := by
    unfold dot
    rw [← sumOver_sub, ← sumOver_add]
    exact sumOver_congr fun k _ => by grind
  unfold pairMargin
  grind

/-- **Pairwise certificate with ties**: let the hidden state be within `ε` of its centre `g` and every row's own score within its
radius, and let greedy decoding take the first maximum of the exact scores over the whole vocabulary. If the certified margin of `c` is
positive over every row before it and not negative over every row after it, greedy decoding takes `c`. -/
theorem firstMax_of_pairwise {κ : Type w} {vocab pre post : List ι} {greedy : Option ι} {c : ι} {K : List κ} {W : ι → κ → α}
    {g dh : κ → α} {s η r n : ι → α} {ε : α}
    (hn : ∀ i ∈ vocab, 0 ≤ n i ∧ dot K (fun k => W c k - W i k) (fun k => W c k - W i k) ≤ n i * n i)
    (hmargin : (∀ i ∈ pre, 0 < pairMargin K W g s r n ε c i) ∧ ∀ i ∈ post, 0 ≤ pairMargin K W g s r n ε c i)
    (scores_within_radii : ∀ i ∈ vocab, absV (η i) ≤ r i)
    (hidden_state_in_ball : 0 ≤ ε ∧ dot K dh dh ≤ ε * ε)
    (every_row_compared : vocab = pre ++ c :: post)
    (strict_or_lower_id : greedy = firstMax (fun i => dot K (W i) (fun k => g k + dh k) + (s i + η i)) vocab) :
    greedy = some c := by
  have hc : c ∈ vocab := by simp [every_row_compared]
  have key := fun i hi => pairMargin_le (g := g) (s := s) (hn i hi) (scores_within_radii c hc) (scores_within_radii i hi)
    hidden_state_in_ball
  rw [strict_or_lower_id]
  clear strict_or_lower_id
  generalize hl : (fun i => dot K (W i) (fun k => g k + dh k) + (s i + η i)) = l
  have hk : ∀ i ∈ vocab, pairMargin K W g s r n ε c i ≤ l c - l i := fun i hi => by subst hl; exact key i hi
  have h1 : ∀ i ∈ pre, l i < l c := fun i hi => by
    have := hk i (by simp [every_row_compared, hi])
    have := hmargin.1 i hi
    grind
  have h2 : ∀ i ∈ post, l i ≤ l c := fun i hi => by
    have := hk i (by simp [every_row_compared, hi])
    have := hmargin.2 i hi
    grind
  rw [every_row_compared]
  clear hk key hn scores_within_radii hmargin every_row_compared
  cases pre with
  | nil => simp only [List.nil_append, firstMax, argmaxFrom_self h2]
  | cons b pre =>
    simp only [List.cons_append, firstMax]
    rw [argmaxFrom_pre pre b (h1 b (by simp)) fun i hi => h1 i (by simp [hi]), argmaxFrom_self h2]

example : firstMax (fun b : Bool => dot [()] (fun _ => if b then (3 : Rat) else 1) (fun _ => 1 + 0) + (0 + 0)) [false, true] =
    some true := by
  refine firstMax_of_pairwise (K := [()]) (W := fun b _ => if b then 3 else 1) (g := fun _ => 1) (dh := fun _ => 0)
    (s := fun _ => 0) (η := fun _ => 0) (r := fun _ => 0) (n := fun b => if b then 0 else 2) (ε := 1 / 2) (pre := [false]) (post := [])
    (fun i _ => ?_) ⟨fun i hi => ?_, by simp⟩ (fun _ _ => absV_le.mpr (by grind)) ⟨by grind, ?_⟩ rfl rfl
  · cases i <;> simp only [dot, sumOver, if_true, if_false, Bool.false_eq_true] <;> grind
  · simp only [List.mem_singleton] at hi
    subst hi
    simp only [pairMargin, dot, sumOver, if_true, if_false, Bool.false_eq_true]
    grind
  · simp only [dot, sumOver]; grind

end ProofKV
end

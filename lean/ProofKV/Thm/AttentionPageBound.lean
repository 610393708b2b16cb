module

public import ProofKV.Lemmas.PageOutput
import ProofKV.Lemmas.Witness

/-! The error of attention from closed pages is at most the sum of their charges, whichever pages are open. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

variable {κ π : Type w} {B : (κ → α) → α → Prop}

/-- **Additive page bound of attention**: for every set `F` of opened pages at once, the output of the full exact cache
and the output with the pages of `F` opened differ by at most the sum of the charges of the closed pages. The charges
are computed from the compressed cache and the sidecars alone. -/
theorem attention_error_le_charges {I : List ι} {page : ι → π} {w w' : ι → α} {v v' : ι → κ → α} {ρ D η : π → α}
    (hB : IsNormBound B)
    (hradii : PageRadii B I page w w' v v' ρ D η)
    (hne : I ≠ []) {pages : List π}
    (hcover : ∀ i ∈ I, page i ∈ pages) (F : π → Prop) :
    B (fun k => attend I w v k - attend I (pick (fun i => F (page i)) w w') (pick (fun i => F (page i)) v v') k)
      (sumOver pages fun p => if F p then 0 else pageCharge I page ρ D η w' p) := by
  have chain : ∀ (ps : List π) (F : π → Prop),
      B (fun k => attend I (pick (fun i => F (page i) ∨ page i ∈ ps) w w') (pick (fun i => F (page i) ∨ page i ∈ ps) v v') k -
        attend I (pick (fun i => F (page i)) w w') (pick (fun i => F (page i)) v v') k)
      (sumOver ps fun p => if F p then 0 else pageCharge I page ρ D η w' p) := by
    intro ps
    induction ps with
    | nil =>
      intro F
      have e : (fun i => F (page i) ∨ page i ∈ []) = fun i => F (page i) := by funext i; simp
      rw [e]
      have e2 : (fun k => attend I (pick (fun i => F (page i)) w w') (pick (fun i => F (page i)) v v') k -
        attend I (pick (fun i => F (page i)) w w') (pick (fun i => F (page i)) v v') k) = fun _ => 0 := by
        funext k; grind
      rw [e2]
      exact hB.zero
    | cons p ps ih =>
      intro F
      by_cases hp : F p
      · have h1 := ih F
        have e : (fun i => F (page i) ∨ page i ∈ p :: ps) = fun i => F (page i) ∨ page i ∈ ps := by
          funext i
          apply propext
          rw [List.mem_cons]
          exact ⟨fun h => h.elim Or.inl fun h => h.elim (fun e => Or.inl (e ▸ hp)) Or.inr, fun h => h.imp_right Or.inr⟩
        rw [e]
        simp only [sumOver, hp, if_true]
        exact hB.mono h1 (by grind)
      · have h1 := ih fun q => F q ∨ q = p
        have h2 := open_page_le hB hradii hne hp
        have e : (fun i => F (page i) ∨ page i ∈ p :: ps) = fun i => (F (page i) ∨ page i = p) ∨ page i ∈ ps := by
          funext i
          rw [List.mem_cons, _root_.or_assoc]
        have h3 : (sumOver ps fun q => if F q ∨ q = p then 0 else pageCharge I page ρ D η w' q) ≤
            sumOver ps fun q => if F q then 0 else pageCharge I page ρ D η w' q := by
          refine sumOver_le fun q _ => ?_
          by_cases hq : F q
          · simp only [hq, true_or, if_true]; exact Std.le_refl _
          · by_cases e : q = p
            · subst e
              simp only [hp, or_true, if_true, if_false]
              exact hB.nonneg h2
            · simp only [hq, e, or_self, if_false]; exact Std.le_refl _
        have h4 := hB.add h1 h2
        have e2 : ∀ a b c : κ → α, (fun k => (a k - b k) + (b k - c k)) = fun k => a k - c k := fun a b c => by
          funext k; grind
        rw [e2] at h4
        rw [e]
        simp only [sumOver, hp, if_false]
        exact hB.mono h4 (by grind)
  have h := chain pages F
  have e2 : ∀ k, attend I (pick (fun i => F (page i) ∨ page i ∈ pages) w w')
      (pick (fun i => F (page i) ∨ page i ∈ pages) v v') k = attend I w v k := by
    intro k
    have e3 : sumOver I (pick (fun i => F (page i) ∨ page i ∈ pages) w w') = sumOver I w :=
      sumOver_congr fun i hi => by simp only [pick, hcover i hi, or_true, if_true]
    unfold attend mean nrm
    refine sumOver_congr fun i hi => ?_
    rw [e3]
    simp only [pick, hcover i hi, or_true, if_true]
  simp only [e2] at h
  exact h

example (F : Bool → Prop) :
    EuclidLe [()] (fun k => attend tok (fun b => if b then 1 else 1 / 4) (fun _ (_ : Unit) => (1 : Rat)) k -
      attend tok (pick F (fun b => if b then 1 else 1 / 4) half)
        (pick F (fun _ _ => 1) fun b _ => if b then 1 else 0) k)
      (sumOver tok fun p => if F p then 0 else pageCharge tok id (fun _ => 2) (fun _ => 3) (fun _ => 1) half p) := by
  refine attention_error_le_charges (κ := Unit) (B := EuclidLe [()]) (page := id) (isNormBound_euclid _)
    ⟨fun i _ => ?_, fun _ => ?_, fun i _ => ?_, fun i _ => ?_, fun i _ => ?_, fun i _ j _ => ?_, fun _ => ?_, fun _ => ?_⟩
    (by simp [tok]) (fun i _ => by cases i <;> simp [tok]) F
  · simp only [half]; grind
  · grind
  · cases i <;> simp [half] <;> grind
  · cases i <;> simp [half] <;> grind
  · cases i <;> simp only [EuclidLe, sumOver, if_true, if_false, Bool.false_eq_true] <;> grind
  · cases i <;> cases j <;> simp only [EuclidLe, sumOver, if_true, if_false, Bool.false_eq_true] <;> grind
  · grind
  · grind

end ProofKV
end

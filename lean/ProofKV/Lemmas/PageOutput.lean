module

public import ProofKV.Lemmas.Eviction
public import ProofKV.Spec.PageOutput

/-! Attention output when a set of tokens is opened. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

variable {κ : Type w} {B : (κ → α) → α → Prop}

/-- An output of positive weights, without division. -/
theorem attend_total {I : List ι} {W : ι → α} (hZ : 0 < sumOver I W) (Y : ι → κ → α) (k : κ) :
    sumOver I W * attend I W Y k = sumOver I fun i => W i * Y i k := by
  unfold attend mean
  rw [← sumOver_mul]
  exact sumOver_congr fun i _ => by unfold nrm; grind

/-- A vector near every value of an output is near the output. -/
theorem attend_near (hB : IsNormBound B) {I : List ι} {W : ι → α} (hW : ∀ i ∈ I, 0 < W i) (hZ : 0 < sumOver I W)
    {Y : ι → κ → α} {x : κ → α} {D : α} (hD : ∀ j ∈ I, B (fun k => x k - Y j k) D) :
    B (fun k => x k - attend I W Y k) D := by
  have h1 := hB.sumOver_const (I := I) (a := nrm I W) (x := fun j k => x k - Y j k)
    (fun i hi => div_nn (Std.le_of_lt (hW i hi)) hZ) fun j hj _ => hD j hj
  have e1 : sumOver I (nrm I W) = 1 := by
    unfold nrm
    rw [sumOver_div]
    grind
  have e2 : (fun k => sumOver I fun j => nrm I W j * (x k - Y j k)) = fun k => x k - attend I W Y k := by
    funext k
    have e3 : (fun j => nrm I W j * (x k - Y j k)) = fun j => nrm I W j * x k - nrm I W j * Y j k := by
      funext j; grind
    rw [e3, sumOver_sub, sumOver_mul_right, e1]
    unfold attend mean
    grind
  rw [e1, e2] at h1
  exact hB.mono h1 (by grind)

/-- Raising the weights and changing the values of a set of tokens: the output moves by at most the mass of the set
after the change times the loss of one token. -/
theorem attend_raise (hB : IsNormBound B) {I : List ι} {A : ι → Prop} {W W' : ι → α} {Y Y' : ι → κ → α} {r D η : α}
    (hne : I ≠ []) (hW : ∀ i ∈ I, 0 < W i) (hr : 1 ≤ r)
    (hup : ∀ i ∈ I, A i → W i ≤ W' i ∧ W' i ≤ r * W i)
    (hsame : ∀ i ∈ I, ¬ A i → W' i = W i ∧ Y' i = Y i)
    (hD : ∀ i ∈ I, A i → ∀ j ∈ I, B (fun k => Y i k - Y j k) D)
    (hη : ∀ i ∈ I, A i → B (fun k => Y' i k - Y i k) η) :
    B (fun k => attend I W' Y' k - attend I W Y k)
      (sumIf A I W' / sumOver I W' * ((1 - 1 / r) * D + η)) := by
  have h0 := one_pos (α := α)
  have hW' : ∀ i ∈ I, 0 < W' i := fun i hi => by
    have h1 := hW i hi
    by_cases hA : A i
    · have := hup i hi hA; grind
    · have := hsame i hi hA; grind
  have hZ := sumOver_ps hne hW
  have hZ' := sumOver_ps hne hW'
  have key : (fun k => attend I W' Y' k - attend I W Y k) = fun k => sumOver I fun i =>
      (if A i then nrm I W' i else 0) *
        ((Y' i k - Y i k) + (1 - W i / W' i) * (Y i k - attend I W Y k)) := by
    funext k
    have t1 := attend_total hZ Y k
    have t2 := attend_total hZ' Y' k
    generalize attend I W Y k = o at *
    generalize attend I W' Y' k = o' at *
    have e1 : sumOver I W' * (o' - o) = sumOver I fun i => W' i * (Y' i k - o) := by
      have e : (fun i => W' i * (Y' i k - o)) = fun i => W' i * Y' i k - W' i * o := by funext i; grind
      rw [e, sumOver_sub, sumOver_mul_right, ← t2]; grind
    have e2 : (sumOver I fun i => W i * (Y i k - o)) = 0 := by
      have e : (fun i => W i * (Y i k - o)) = fun i => W i * Y i k - W i * o := by funext i; grind
      rw [e, sumOver_sub, sumOver_mul_right, ← t1]; grind
    have e3 : (sumOver I fun i => W' i * (Y' i k - o)) =
        sumOver I W' * sumOver I fun i => (if A i then nrm I W' i else 0) *
          ((Y' i k - Y i k) + (1 - W i / W' i) * (Y i k - o)) := by
      rw [← sumOver_mul]
      have e4 : (sumOver I fun i => W' i * (Y' i k - o)) =
          sumOver I fun i => W' i * (Y' i k - o) - W i * (Y i k - o) := by
        rw [sumOver_sub, e2]; grind
      rw [e4]
      refine sumOver_congr fun i hi => ?_
      have h1 := hW' i hi
      by_cases hA : A i <;> simp only [hA, if_true, if_false]
      · have e5 : W' i * (W i / W' i) = W i := mul_div_self h1
        have e6 : sumOver I W' * nrm I W' i = W' i := mul_div_self hZ'
        have e7 : sumOver I W' * (nrm I W' i * (Y' i k - Y i k + (1 - W i / W' i) * (Y i k - o))) =
            W' i * (Y' i k - Y i k) + (W' i - W' i * (W i / W' i)) * (Y i k - o) := by rw [← e6]; grind
        rw [e7, e5]
        grind
      · have := hsame i hi hA
        rw [this.1, this.2]
        grind
    rw [← e1] at e3
    exact Std.le_antisymm (le_of_mul hZ' (by rw [e3]; exact Std.le_refl _))
      (le_of_mul hZ' (by rw [e3]; exact Std.le_refl _))
  have hmass : sumIf A I W' / sumOver I W' = sumOver I fun i => if A i then nrm I W' i else 0 := by
    unfold sumIf
    rw [← sumOver_div]
    exact sumOver_congr fun i _ => by by_cases hA : A i <;> simp only [hA, if_true, if_false, nrm]; grind
  rw [key, hmass]
  refine hB.sumOver_const (a := fun i => if A i then nrm I W' i else 0)
    (x := fun i k => (Y' i k - Y i k) + (1 - W i / W' i) * (Y i k - attend I W Y k)) (fun i hi => ?_) fun i hi ha => ?_
  · by_cases hA : A i <;> simp only [hA, if_true, if_false]
    · exact div_nn (Std.le_of_lt (hW' i hi)) hZ'
    · exact Std.le_refl _
  · have hA : A i := Classical.byContradiction fun h => ha (by simp [h])
    have h4 := attend_near hB hW hZ (x := Y i) (D := D) fun j hj => hD i hi hA j hj
    have h5 := hup i hi hA
    have h6 : W i / W' i ≤ 1 := div_le (hW' i hi) (by grind)
    have h7 : 1 / r ≤ W i / W' i := div_le_div_cross (by grind) (hW' i hi) (by grind)
    have h8 : absV (1 - W i / W' i) ≤ 1 - 1 / r := absV_le.mpr ⟨by grind, by grind⟩
    have h9 := mul_le_right (hB.nonneg h4) h8
    exact hB.mono (hB.add (hη i hi hA) (hB.scale (1 - W i / W' i) h4)) (by grind)

/-- The share of a page when its weights are as large and the others as small as their ratios allow. -/
theorem page_share_le {π : Type w} {I : List ι} {page : ι → π} {ρ : π → α} {w' W : ι → α} {p : π} (hne : I ≠ [])
    (hρ : ∀ q, 1 ≤ ρ q) (hw' : ∀ i ∈ I, 0 < w' i)
    (hup : ∀ i ∈ I, W i ≤ ρ (page i) * w' i) (hlo : ∀ i ∈ I, w' i ≤ ρ (page i) * W i) :
    sumIf (fun i => page i = p) I W / sumOver I W ≤ pageTop I page ρ w' p := by
  have h0 := one_pos (α := α)
  have hW : ∀ i ∈ I, 0 < W i := fun i hi => by
    have h1 := hρ (page i)
    have h2 := hlo i hi
    have h3 := hw' i hi
    have h4 : 0 ≤ W i := nn_of_mul (c := ρ (page i)) (by grind) (by grind)
    by_cases e : W i = 0
    · rw [e] at h2; grind
    · grind
  have hZ := sumOver_ps hne hW
  have e := sumIf_add_not (fun i => page i = p) I W
  have h1 : sumIf (fun i => page i = p) I W ≤ sumIf (fun i => page i = p) I fun i => ρ (page i) * w' i :=
    sumIf_mono fun i hi _ => hup i hi
  have h2 : (sumIf (fun i => ¬ page i = p) I fun i => w' i / ρ (page i)) ≤ sumIf (fun i => ¬ page i = p) I W :=
    sumIf_mono fun i hi _ => div_le (by have := hρ (page i); grind) (by have := hlo i hi; grind)
  have h3 : 0 ≤ sumIf (fun i => page i = p) I W := sumIf_nonneg fun i hi _ => Std.le_of_lt (hW i hi)
  have h4 : 0 ≤ sumIf (fun i => ¬ page i = p) I fun i => w' i / ρ (page i) :=
    sumIf_nonneg fun i hi _ => div_nn (Std.le_of_lt (hw' i hi)) (by have := hρ (page i); grind)
  have hZ2 : 0 < sumIf (fun i => page i = p) I (fun i => ρ (page i) * w' i) +
      sumIf (fun i => ¬ page i = p) I fun i => w' i / ρ (page i) := by
    have h5 : 0 < sumOver I fun i => w' i / ρ (page i) :=
      sumOver_ps hne fun i hi => div_ps (hw' i hi) (by have := hρ (page i); grind)
    have h6 := sumIf_add_not (fun i => page i = p) I fun i => w' i / ρ (page i)
    have h7 : (sumIf (fun i => page i = p) I fun i => w' i / ρ (page i)) ≤
        sumIf (fun i => page i = p) I fun i => ρ (page i) * w' i := sumIf_mono fun i hi _ => by
      have h8 := hρ (page i)
      have h9 := Std.le_of_lt (hw' i hi)
      have h10 := mul_le_right h9 h8
      have h11 : w' i / ρ (page i) ≤ w' i := div_le (by grind) (by grind)
      grind
    grind
  unfold pageTop
  rw [← e]
  rw [← e] at hZ
  generalize sumIf (fun i => page i = p) I W = a at *
  generalize sumIf (fun i => ¬ page i = p) I W = b at *
  generalize sumIf (fun i => page i = p) I (fun i => ρ (page i) * w' i) = a' at *
  generalize (sumIf (fun i => ¬ page i = p) I fun i => w' i / ρ (page i)) = b' at *
  refine div_le_div_cross hZ hZ2 ?_
  have := mul_le_both h3 (c := b') (d := b) (by grind) h1 h2
  grind
variable {π : Type w}

/-- Values, exact or compressed, are within the spread of the first page. -/
theorem PageRadii.pick_spread (hB : IsNormBound B) {I : List ι} {page : ι → π} {w w' : ι → α} {v v' : ι → κ → α}
    {ρ D η : π → α} (h : PageRadii B I page w w' v v' ρ D η) (S T : ι → Prop) {i j : ι} (hi : i ∈ I) (hj : j ∈ I) :
    B (fun k => pick S v v' i k - pick T v v' j k) (D (page i)) := by
  have near : ∀ (S : ι → Prop) {i : ι}, i ∈ I → B (fun k => pick S v v' i k - v' i k) (η (page i)) := by
    intro S i hi
    by_cases hS : S i <;> simp only [pick, hS, if_true, if_false]
    · exact h.value i hi
    · have e : (fun k => v' i k - v' i k) = fun _ => 0 := by funext k; grind
      rw [e]
      exact hB.mono hB.zero (h.radius_nonneg _)
  have h5 := hB.add (hB.add (near S hi) (h.spread i hi j hj)) (hB.neg (near T hj))
  have e : (fun k => (pick S v v' i k - v' i k) + (v' i k - v' j k) + - (pick T v v' j k - v' j k)) =
      fun k => pick S v v' i k - pick T v v' j k := by funext k; grind
  rw [e] at h5
  exact hB.mono h5 (by grind)

/-- Opening one closed page moves the output by at most its charge. -/
theorem open_page_le (hB : IsNormBound B) {I : List ι} {page : ι → π} {w w' : ι → α} {v v' : ι → κ → α}
    {ρ D η : π → α} (h : PageRadii B I page w w' v v' ρ D η) (hne : I ≠ []) {F : π → Prop} {p : π} (hp : ¬ F p) :
    B (fun k => attend I (pick (fun i => F (page i) ∨ page i = p) w w') (pick (fun i => F (page i) ∨ page i = p) v v') k -
      attend I (pick (fun i => F (page i)) w w') (pick (fun i => F (page i)) v v') k)
      (pageCharge I page ρ D η w' p) := by
  have h0 := one_pos (α := α)
  let M : ι → Prop := fun i => F (page i) ∨ (page i = p ∧ w' i ≤ w i)
  have hw : ∀ i ∈ I, 0 < w i := fun i hi => by
    have h1 := h.one_le (page i)
    have h2 := h.lower i hi
    have h3 := h.pos i hi
    have h4 : 0 ≤ w i := nn_of_mul (c := ρ (page i)) (by grind) (by grind)
    by_cases e : w i = 0
    · rw [e] at h2; grind
    · grind
  have hpos : ∀ (T : ι → Prop), ∀ i ∈ I, 0 < pick T w w' i := fun T i hi => by
    by_cases hT : T i <;> simp only [pick, hT, if_true, if_false]
    · exact hw i hi
    · exact h.pos i hi
  have up := attend_raise hB (A := fun i => page i = p ∧ w' i ≤ w i) (W := pick (fun i => F (page i)) w w')
    (W' := pick M w w') (Y := pick (fun i => F (page i)) v v') (Y' := pick M v v') (r := ρ p) (D := D p) (η := η p)
    hne (hpos _) (h.one_le p)
    (fun i hi hA => by
      have hF : ¬ F (page i) := hA.1 ▸ hp
      have hM : M i := Or.inr hA
      simp only [pick, hF, hM, if_true, if_false]
      exact ⟨hA.2, hA.1 ▸ h.upper i hi⟩)
    (fun i hi hA => by
      have e : M i = F (page i) := propext ⟨fun h => h.resolve_right hA, Or.inl⟩
      simp only [pick, e, and_self])
    (fun i hi hA j hj => hA.1 ▸ h.pick_spread hB _ _ hi hj)
    (fun i hi hA => by
      have hF : ¬ F (page i) := hA.1 ▸ hp
      have hM : M i := Or.inr hA
      simp only [pick, hF, hM, if_true, if_false]
      exact hA.1 ▸ h.value i hi)
  have down := attend_raise hB (A := fun i => page i = p ∧ ¬ w' i ≤ w i)
    (W := pick (fun i => F (page i) ∨ page i = p) w w')
    (W' := pick M w w') (Y := pick (fun i => F (page i) ∨ page i = p) v v') (Y' := pick M v v') (r := ρ p) (D := D p)
    (η := η p) hne (hpos _) (h.one_le p)
    (fun i hi hA => by
      have hF : ¬ F (page i) := hA.1 ▸ hp
      have hM : ¬ M i := fun hM => hM.elim hF fun h => hA.2 h.2
      have hT : F (page i) ∨ page i = p := Or.inr hA.1
      simp only [pick, hT, hM, if_true, if_false]
      exact ⟨by have := hA.2; grind, hA.1 ▸ h.lower i hi⟩)
    (fun i hi hA => by
      have e : M i = (F (page i) ∨ page i = p) := propext
        ⟨fun h => h.imp_right And.left, fun h => h.imp_right fun e =>
          ⟨e, Classical.byContradiction fun hle => hA ⟨e, hle⟩⟩⟩
      by_cases hM : M i
      · have hT : F (page i) ∨ page i = p := e ▸ hM
        simp only [pick, hM, hT, if_true, and_self]
      · have hT : ¬ (F (page i) ∨ page i = p) := e ▸ hM
        simp only [pick, hM, hT, if_false, and_self])
    (fun i hi hA j hj => hA.1 ▸ h.pick_spread hB _ _ hi hj)
    (fun i hi hA => by
      have hF : ¬ F (page i) := hA.1 ▸ hp
      have hM : ¬ M i := fun hM => hM.elim hF fun h => hA.2 h.2
      have hT : F (page i) ∨ page i = p := Or.inr hA.1
      simp only [pick, hT, hM, if_true, if_false]
      have h1 := hB.neg (h.value i hi)
      have e : (fun k => - (v i k - v' i k)) = fun k => v' i k - v i k := by funext k; grind
      rw [e] at h1
      exact hA.1 ▸ h1)
  have hmass : sumIf (fun i => page i = p ∧ w' i ≤ w i) I (pick M w w') +
      sumIf (fun i => page i = p ∧ ¬ w' i ≤ w i) I (pick M w w') = sumIf (fun i => page i = p) I (pick M w w') := by
    unfold sumIf
    rw [← sumOver_add]
    refine sumOver_congr fun i _ => ?_
    by_cases h1 : page i = p <;> by_cases h2 : w' i ≤ w i <;>
      simp only [h1, h2, and_self, and_true, and_false, if_true, if_false, not_true_eq_false,
        not_false_eq_true] <;> grind
  have hshare := page_share_le (p := p) (W := pick M w w') hne h.one_le h.pos
    (fun i hi => by
      by_cases hT : M i <;> simp only [pick, hT, if_true, if_false]
      · exact h.upper i hi
      · have := mul_le_right (Std.le_of_lt (h.pos i hi)) (h.one_le (page i)); grind)
    (fun i hi => by
      by_cases hT : M i <;> simp only [pick, hT, if_true, if_false]
      · exact h.lower i hi
      · have := mul_le_right (Std.le_of_lt (h.pos i hi)) (h.one_le (page i)); grind)
  have hZ : 0 < sumOver I (pick M w w') := sumOver_ps hne (hpos M)
  have hloss : 0 ≤ (1 - 1 / ρ p) * D p + η p := by
    have h1 : 1 / ρ p ≤ 1 := div_le (by have := h.one_le p; grind) (by have := h.one_le p; grind)
    have := mul_nn (a := 1 - 1 / ρ p) (by grind) (h.spread_nonneg p)
    have := h.radius_nonneg p
    grind
  have h1 := mul_le_right hloss hshare
  have e1 : sumIf (fun i => page i = p) I (pick M w w') / sumOver I (pick M w w') =
      sumIf (fun i => page i = p ∧ w' i ≤ w i) I (pick M w w') / sumOver I (pick M w w') +
      sumIf (fun i => page i = p ∧ ¬ w' i ≤ w i) I (pick M w w') / sumOver I (pick M w w') := by
    rw [← hmass]
    generalize sumOver I (pick M w w') = Z at *
    grind
  rw [e1] at h1
  have h2 := hB.add up (hB.neg down)
  have e2 : ∀ a b c : κ → α, (fun k => (a k - b k) + - (a k - c k)) = fun k => c k - b k := fun a b c => by
    funext k; grind
  rw [e2] at h2
  refine hB.mono h2 ?_
  unfold pageCharge
  grind

end ProofKV
end

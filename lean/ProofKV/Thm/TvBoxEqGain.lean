module

public import ProofKV.Lemmas.TVBounds
public import ProofKV.Lemmas.Witness

/-! The exact supremum of the total variation distance over a box of ratios. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **The box optimum**: a number bounds the total variation distance of every tilt in the box if and only if it bounds
the gain of every 0/1 choice of tokens. So the largest gain is the exact worst case. -/
theorem tv_box_le_iff_gain_le {I : List ι} {p l u : ι → α} {T : α}
    (hp : IsDist I p)
    (hl : ∀ i ∈ I, 0 < l i)
    (hlu : ∀ i ∈ I, l i ≤ u i) :
    (∀ w, InBox I l u w → tv I (tilt I p w) p ≤ T) ↔
      ∀ A : ι → Prop, gain I p l u (fun i => if A i then 1 else 0) ≤ T := by
  refine ⟨fun h A => ?_, fun h w hw => Std.le_trans (tv_le_gain hp hw) (h _)⟩
  have hb : InBox I l u fun i => if A i then u i else l i := by
    refine ⟨hl, fun i hi => ?_, fun i hi => ?_⟩ <;> by_cases hA : A i <;> simp only [hA, if_true, if_false] <;>
      have := hlu i hi <;> grind
  have h1 := tilt_total_pos hp (w := fun i => if A i then u i else l i) fun i hi => by
    have := hb.pos i hi; have := hb.lower i hi; grind
  refine Std.le_trans ?_ (h _ hb)
  refine Std.le_trans ?_ (choice_le_tv ((tilt_total h1).trans hp.total.symm) (isShare_choice I A))
  rw [choice_tilt, ← share_add (fun i => p i * if A i then u i else l i) fun i => if A i then (1 : α) else 0]
  unfold gain
  rw [sumOver_congr (f := fun i => (if A i then (1 : α) else 0) * (p i * if A i then u i else l i))
      (g := fun i => (if A i then (1 : α) else 0) * (p i * u i)) fun i _ => by by_cases hA : A i <;> simp [hA] <;> grind,
    sumOver_congr (f := fun i => (1 - if A i then (1 : α) else 0) * (p i * if A i then u i else l i))
      (g := fun i => (1 - if A i then (1 : α) else 0) * (p i * l i)) fun i _ => by by_cases hA : A i <;> simp [hA] <;> grind]
  exact Std.le_refl _

example : ∃ A : Bool → Prop,
    tv tok (tilt tok half ext) half ≤ gain tok half (fun i => (rad i)⁻¹) rad fun i => if A i then 1 else 0 :=
  ⟨_, tv_le_gain half_isDist ext_inRatio.inBox⟩

end ProofKV
end

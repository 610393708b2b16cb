module

public import ProofKV.Lemmas.Eviction
import ProofKV.Lemmas.Witness

/-! Two caches that agree on everything kept, with outputs any distance apart. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Two worlds**: for every gap `G` there are values for the evicted tokens of one world and of another, equal on
everything kept, whose outputs differ by exactly `G`; so every estimator that reads only the kept values is off by at
least half of `G` in one of them. -/
theorem exists_two_worlds {I : List ι} {K : ι → Prop} {p v₀ : ι → α} {j : ι}
    (hp : ∀ i ∈ I, 0 ≤ p i)
    (hj : j ∈ I)
    (hpj : 0 < p j)
    (hevicted : ¬ K j)
    (G : α) :
    ∃ v v' : ι → α, (∀ i, K i → v i = v' i) ∧ mean I p v - mean I p v' = G ∧
      ∀ F : (ι → α) → α, ReadsOnly K F → G ≤ 2 * absV (mean I p v - F v) ∨ G ≤ 2 * absV (mean I p v' - F v') := by
  have h0 := one_pos (α := α)
  have hsum : 0 < evictedMass I K p := by
    have h1 := le_sumOver (f := fun i => if ¬ K i then p i else 0) hj fun i hi => by
      by_cases h : K i <;> simp only [h, not_true_eq_false, not_false_eq_true, if_true, if_false]
      · exact Std.le_refl _
      · exact hp i hi
    simp only [hevicted, not_false_eq_true, if_true] at h1
    have h2 : (sumOver I fun i => if ¬ K i then p i else 0) = evictedMass I K p := sumOver_congr fun i _ => by
      by_cases h : K i <;> simp only [h, not_true_eq_false, not_false_eq_true, if_true, if_false]
    grind
  have hgap : mean I p (fun i => v₀ i + if K i then 0 else G / evictedMass I K p) - mean I p v₀ = G := by
    have e : mean I p (fun i => v₀ i + if K i then 0 else G / evictedMass I K p) - mean I p v₀ =
        evictedMass I K p * (G / evictedMass I K p) := by
      unfold mean
      rw [← sumOver_sub]
      unfold evictedMass
      rw [← sumIf_mul_right]
      refine sumOver_congr fun i _ => ?_
      by_cases h : K i <;> simp only [h, not_true_eq_false, not_false_eq_true, if_true, if_false] <;> grind
    rw [e, mul_div_self hsum]
  refine ⟨fun i => v₀ i + if K i then 0 else G / evictedMass I K p, v₀, fun i hi => by
    simp only [hi, if_true]; grind, hgap, fun F hF => ?_⟩
  have hsame := hF (fun i => v₀ i + if K i then 0 else G / evictedMass I K p) v₀ fun i hi => by
    simp only [hi, if_true]; grind
  rw [hsame]
  have h1 := le_absV (mean I p (fun i => v₀ i + if K i then 0 else G / evictedMass I K p) - F v₀)
  have h2 := neg_le_absV (mean I p v₀ - F v₀)
  rcases Std.le_total (a := G) (b := 2 * absV (mean I p v₀ - F v₀)) with h | h
  · exact Or.inr h
  · exact Or.inl (by grind)

example : ∃ v v' : Bool → Rat, (∀ i, i = true → v i = v' i) ∧ mean tok half v - mean tok half v' = 1000 ∧
    ∀ F : (Bool → Rat) → Rat, ReadsOnly (fun i => i = true) F →
      1000 ≤ 2 * absV (mean tok half v - F v) ∨ 1000 ≤ 2 * absV (mean tok half v' - F v') :=
  exists_two_worlds (v₀ := fun _ => 0) (j := false) half_isDist.nonneg (by simp [tok]) (by simp only [half]; grind)
    (by simp) 1000

end ProofKV
end

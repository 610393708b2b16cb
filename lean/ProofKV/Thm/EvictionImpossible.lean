module

public import ProofKV.Lemmas.Evict

/-! No estimate that reads only retained values has a bounded error. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Impossibility**: if a token with positive weight is dropped, then for every estimate that reads only the retained values and for every
number `M` there are values for which the estimate is off by more than `M`. -/
theorem eviction_impossible {I : List ι} {p : ι → α} {K : ι → Prop} {j : ι} (F : (ι → α) → α) (M : α)
    (hj : j ∈ I)
    (hdrop : ¬ K j)
    (hp : ∀ i ∈ I, 0 ≤ p i)
    (hpos : 0 < p j)
    (hF : ∀ v v', (∀ i, K i → v i = v' i) → F v = F v') :
    ∃ v, M < absV (mean I p v - F v) := by
  by_cases hM : M < absV (F fun _ => 0)
  · refine ⟨fun _ => 0, ?_⟩
    have e : (mean I p fun _ => 0) = 0 := by
      unfold mean
      rw [sumOver_congr (g := fun _ => 0) fun i _ => by grind, sumOver_zero]
    rw [e]
    rcases absV_cases (F fun _ => 0) with h | h <;> rcases absV_cases (0 - F fun _ => 0) with h' | h' <;> grind
  · have h0 : 0 ≤ M := by have := absV_nn (F fun _ => 0); grind
    have h1 := one_pos (α := α)
    let c : α := (2 * M + 1) / p j
    refine ⟨fun i => if i = j then c else 0, ?_⟩
    have e1 : F (fun i => if i = j then c else 0) = F fun _ => 0 := hF _ _ fun i hi => by
      have : i ≠ j := fun e => hdrop (e ▸ hi)
      simp only [this, if_false]
    have hc : 0 ≤ c := div_nn (by grind) hpos
    have e2 : 2 * M + 1 ≤ mean I p fun i => if i = j then c else 0 := by
      have := le_sumOver (f := fun i => p i * if i = j then c else 0) hj fun i hi => by
        by_cases h : i = j <;> simp only [h, if_true, if_false]
        · exact mul_nn (Std.le_of_lt hpos) hc
        · grind
      simp only [if_true] at this
      have e : p j * c = 2 * M + 1 := mul_div_self hpos
      unfold mean
      grind
    rw [e1]
    have h2 := neg_le_absV (F fun _ => 0)
    have h3 := le_absV (F fun _ => 0)
    have h4 := le_absV ((mean I p fun i => if i = j then c else 0) - F fun _ => 0)
    grind

example (M : Rat) : ∃ v, M < absV (mean [true, false] (fun _ => 1 / 2) v - (fun v : Bool → Rat => v true) v) :=
  eviction_impossible (K := fun b => b = true) (j := false) (fun v => v true) M (by simp) (by simp) (fun _ _ => by grind) (by grind)
    fun _ _ h => h true rfl

end ProofKV
end

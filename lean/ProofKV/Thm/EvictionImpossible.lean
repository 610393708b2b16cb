module

public import ProofKV.Lemmas.Eviction
import ProofKV.Lemmas.Witness

/-! No estimator or error bound that reads only the kept values is sound. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Impossibility**: let an estimator `F` and an error bound `B` read only the kept values, and let one evicted token
have positive mass. Then for all values `v₀` there are values `v` that differ from them at that token only and on which
the error of the estimator is above the bound. -/
theorem exists_error_gt_of_readsOnly {I : List ι} {K : ι → Prop} {p v₀ : ι → α} {F B : (ι → α) → α} {j : ι}
    (hj : j ∈ I)
    (hpj : 0 < p j)
    (hevicted : ¬ K j)
    (hF : ReadsOnly K F)
    (hB : ReadsOnly K B) :
    ∃ v : ι → α, (∀ i, i ≠ j → v i = v₀ i) ∧ B v < absV (mean I p v - F v) := by
  have h0 := one_pos (α := α)
  let c : α := sumOver I fun i => if i = j then p i else 0
  have hc : 0 < c := by
    have := le_sumOver (f := fun i => if i = j then p i else 0) hj fun i hi => by
      by_cases h : i = j <;> simp only [h, if_true, if_false]
      · exact Std.le_of_lt hpj
      · exact Std.le_refl _
    have e : (fun i => if i = j then p i else 0) j = p j := by simp only [if_true]
    rw [e] at this
    have : p j ≤ c := this
    grind
  let t : α := (F v₀ + absV (B v₀) + 1 - mean I p v₀) / c
  have hct : c * t = F v₀ + absV (B v₀) + 1 - mean I p v₀ := mul_div_self hc
  refine ⟨fun i => v₀ i + if i = j then t else 0, fun i hi => by simp only [hi, if_false]; grind, ?_⟩
  have hsame : ∀ i, K i → (v₀ i + if i = j then t else 0) = v₀ i := by
    intro i hi
    have : i ≠ j := fun e => hevicted (e ▸ hi)
    simp only [this, if_false]; grind
  have hm : mean I p (fun i => v₀ i + if i = j then t else 0) = mean I p v₀ + c * t := by
    unfold mean
    rw [← sumOver_mul_right, ← sumOver_add]
    exact sumOver_congr fun i _ => by by_cases h : i = j <;> simp only [h, if_true, if_false] <;> grind
  rw [hF _ _ hsame, hB _ _ hsame, hm]
  have := le_absV (mean I p v₀ + c * t - F v₀)
  have := le_absV (B v₀)
  grind

example : ∃ v : Bool → Rat, (∀ i, i ≠ false → v i = 0) ∧ 1000 < absV (mean tok half v - 1 / 2 * v true) :=
  exists_error_gt_of_readsOnly (K := fun i => i = true) (v₀ := fun _ => 0) (F := fun v => 1 / 2 * v true)
    (B := fun _ => 1000) (by simp [tok]) (by simp only [half]; grind) (by simp)
    (fun v v' h => by simp only [h true rfl]) (fun _ _ _ => rfl)

end ProofKV
end

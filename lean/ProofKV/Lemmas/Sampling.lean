module

public import ProofKV.Base
public import ProofKV.Spec.Sampling

/-! Expectations over Poisson samples. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The first token is kept or not. -/
theorem expect_cons (π : ι → α) (i : ι) (I : List ι) (g : List ι → α) :
    expect π (i :: I) g = π i * expect π I (fun s => g (i :: s)) + (1 - π i) * expect π I g := by
  unfold expect
  rw [samples, sumOver_append, sumOver_map, sumOver_map, ← sumOver_mul, ← sumOver_mul]
  congr 1
  · exact sumOver_congr fun s _ => by grind
  · exact sumOver_congr fun s _ => by grind

/-- The expectation over the samples of no token. -/
theorem expect_nil (π : ι → α) (g : List ι → α) : expect π [] g = g [] := by
  simp only [expect, samples, sumOver]; grind

/-- Expectations add. -/
theorem expect_add (π : ι → α) (I : List ι) (f g : List ι → α) :
    expect π I (fun s => f s + g s) = expect π I f + expect π I g := by
  unfold expect
  rw [← sumOver_add]
  exact sumOver_congr fun s _ => by grind

/-- Expectations scale. -/
theorem expect_mul (π : ι → α) (I : List ι) (c : α) (f : List ι → α) :
    expect π I (fun s => c * f s) = c * expect π I f := by
  unfold expect
  rw [← sumOver_mul]
  exact sumOver_congr fun s _ => by grind

/-- The probabilities of all samples sum to one. -/
theorem expect_const (π : ι → α) (c : α) : ∀ I : List ι, expect π I (fun _ => c) = c
  | [] => expect_nil π _
  | i :: I => by rw [expect_cons, expect_const π c I]; grind

/-- The expectation of a sum over the sample. -/
theorem expect_sumOver (π f : ι → α) :
    ∀ I : List ι, expect π I (fun s => sumOver s f) = sumOver I fun i => π i * f i
  | [] => by rw [expect_nil]; rfl
  | i :: I => by
    have h := expect_sumOver π f I
    have h1 : expect π I (fun s => sumOver (i :: s) f) = f i + sumOver I fun i => π i * f i := by
      rw [show (fun s => sumOver (i :: s) f) = fun s => f i + sumOver s f from rfl, expect_add, expect_const, h]
    rw [expect_cons, h1, h]
    simp only [sumOver]
    grind

/-- The second moment of a constant plus a sum over the sample. -/
theorem expect_sq (π f : ι → α) : ∀ (I : List ι) (c : α),
    expect π I (fun s => (c + sumOver s f) * (c + sumOver s f)) =
      (sumOver I fun i => π i * (1 - π i) * (f i * f i)) +
        (c + sumOver I fun i => π i * f i) * (c + sumOver I fun i => π i * f i)
  | [], c => by rw [expect_nil]; simp only [sumOver]; grind
  | i :: I, c => by
    have h1 := expect_sq π f I (c + f i)
    have h2 := expect_sq π f I c
    have e : (fun s => (c + sumOver (i :: s) f) * (c + sumOver (i :: s) f)) =
        fun s => (c + f i + sumOver s f) * (c + f i + sumOver s f) := by
      funext s; simp only [sumOver]; grind
    rw [expect_cons, e, h1, h2]
    simp only [sumOver]
    grind

/-- Every sample has non-negative weight. -/
theorem samples_nonneg {π : ι → α} : ∀ {I : List ι}, (∀ i ∈ I, 0 ≤ π i ∧ π i ≤ 1) → ∀ s ∈ samples π I, 0 ≤ s.1
  | [], _, s, hs => by
    have h0 := one_pos (α := α)
    simp only [samples, List.mem_singleton] at hs
    subst hs
    exact Std.le_of_lt h0
  | i :: I, h, s, hs => by
    have h0 := h i (by simp)
    have ih := samples_nonneg (I := I) fun j hj => h j (by simp [hj])
    simp only [samples, List.mem_append, List.mem_map] at hs
    rcases hs with ⟨t, ht, rfl⟩ | ⟨t, ht, rfl⟩
    · exact mul_nn h0.1 (ih t ht)
    · exact mul_nn (a := 1 - π i) (by grind) (ih t ht)

/-- Two tokens with inclusion probabilities one half and one quarter. -/
@[expose] def incl : Bool → Rat := fun b => if b then 1 / 2 else 1 / 4

/-- The probabilities of the instance are not zero. -/
theorem incl_ne_zero : ∀ i ∈ [true, false], incl i ≠ 0 := fun i _ => by cases i <;> simp only [incl] <;> grind

end ProofKV
end

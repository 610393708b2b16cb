module

public import ProofKV.Lemmas.Prob

/-! The fourth moment of a sum of two independent centred terms. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Fourth moment of a sum**: for independent centred `x` and `y` with fourth moments at most three squared variances, the sum has the
same property; iterated, a sum of many independent terms keeps `E s⁴ ≤ 3 V²`. -/
theorem fourth_moment_add_le {κ : Type w} {I : List ι} {J : List κ} {p x : ι → α} {q y : κ → α} {V W : α}
    (hp : sumOver I p = 1)
    (hq : sumOver J q = 1)
    (hx : (sumOver I fun i => p i * x i) = 0)
    (hy : (sumOver J fun j => q j * y j) = 0)
    (hV : (sumOver I fun i => p i * (x i * x i)) = V)
    (hW : (sumOver J fun j => q j * (y j * y j)) = W)
    (hx4 : (sumOver I fun i => p i * (x i * x i * (x i * x i))) ≤ 3 * (V * V))
    (hy4 : (sumOver J fun j => q j * (y j * y j * (y j * y j))) ≤ 3 * (W * W)) :
    (sumOver I fun i => sumOver J fun j => p i * q j * ((x i + y j) * (x i + y j) * ((x i + y j) * (x i + y j)))) ≤
      3 * ((V + W) * (V + W)) := by
  have inner : ∀ i, (sumOver J fun j => p i * q j * ((x i + y j) * (x i + y j) * ((x i + y j) * (x i + y j)))) =
      p i * (x i * x i * (x i * x i)) + 6 * W * (p i * (x i * x i)) +
        (4 * (sumOver J fun j => q j * (y j * y j * y j)) * (p i * x i) + p i * sumOver J fun j => q j * (y j * y j * (y j * y j))) := by
    intro i
    have e : (sumOver J fun j => p i * q j * ((x i + y j) * (x i + y j) * ((x i + y j) * (x i + y j)))) =
        (p i * (x i * x i * (x i * x i)) * sumOver J q + 4 * (p i * (x i * x i * x i)) * sumOver J fun j => q j * y j) +
        ((6 * (p i * (x i * x i)) * sumOver J fun j => q j * (y j * y j)) +
        ((4 * (p i * x i) * sumOver J fun j => q j * (y j * y j * y j)) + p i * sumOver J fun j => q j * (y j * y j * (y j * y j)))) := by
      simp only [← sumOver_mul, ← sumOver_add]
      exact sumOver_congr fun j _ => by grind
    rw [e, hq, hy, hW]
    grind
  rw [sumOver_congr fun i _ => inner i, sumOver_add, sumOver_add, sumOver_add, sumOver_mul, sumOver_mul, sumOver_mul_right, hV, hx, hp]
  grind

example : (sumOver [true, false] fun i : Bool => sumOver [true, false] fun j : Bool => (1 / 2 : Rat) * (1 / 2) *
    (((if i then 1 else -1) + (if j then 1 else -1)) * ((if i then 1 else -1) + (if j then 1 else -1)) *
      (((if i then 1 else -1) + (if j then 1 else -1)) * ((if i then 1 else -1) + (if j then 1 else -1))))) ≤ 3 * ((1 + 1) * (1 + 1)) := by
  refine fourth_moment_add_le (p := fun _ : Bool => (1 / 2 : Rat)) (q := fun _ : Bool => (1 / 2 : Rat)) (x := fun i => if i then 1 else -1)
    (y := fun i => if i then 1 else -1) ?_ ?_ ?_ ?_ ?_ ?_ ?_ ?_ <;> simp only [sumOver, if_true, if_false, Bool.false_eq_true] <;> grind

end ProofKV
end

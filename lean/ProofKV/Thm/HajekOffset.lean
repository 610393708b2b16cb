module

public import ProofKV.Base
public import ProofKV.Spec.Sampling

/-! The Hajek estimate is a softmax over the kept tokens with an offset added to the logits. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Hajek identity**: let `ex` turn sums of logits into products, and let the offset `b i` satisfy
`ex (b i) π i = 1`, as `b = - log π` does for the exponential. Then attention over the kept tokens with the logits
`l i + b i` is the Hajek estimate with the weights `ex (l i)`. -/
theorem mean_offset_eq_hajek {β : Type w} [Add β] {s : List ι} {π v : ι → α} {ex : β → α} {l b : ι → β}
    (hex : ∀ x y, ex (x + y) = ex x * ex y)
    (hb : ∀ i ∈ s, ex (b i) * π i = 1) :
    mean s (nrm s fun i => ex (l i + b i)) v = hajek π (fun i => ex (l i)) v s := by
  have h0 := one_pos (α := α)
  have e : ∀ i ∈ s, ex (l i + b i) = ex (l i) / π i := fun i hi => by
    have h1 := hb i hi
    have h2 : π i ≠ 0 := fun h => by rw [h] at h1; grind
    rw [hex]; grind
  have e1 : (sumOver s fun i => ex (l i + b i)) = htTotal π (fun i => ex (l i)) s := sumOver_congr e
  unfold mean nrm hajek
  simp only
  rw [e1]
  unfold htTotal
  rw [← sumOver_div]
  refine sumOver_congr fun i hi => ?_
  rw [e i hi]
  grind

example : mean [true, false] (nrm [true, false] fun i => (2 : Rat) ^ ((0 : Nat) + if i then 1 else 2))
      (fun i => if i then 1 else 3) =
    hajek (fun i => if i then 1 / 2 else 1 / 4) (fun _ => (2 : Rat) ^ (0 : Nat)) (fun i => if i then 1 else 3)
      [true, false] := by
  refine mean_offset_eq_hajek (ι := Bool) (ex := fun n : Nat => (2 : Rat) ^ n) (l := fun _ => 0)
    (b := fun i => if i then 1 else 2) (fun x y => ?_) fun i _ => ?_
  · grind
  · cases i <;> simp <;> grind

end ProofKV
end

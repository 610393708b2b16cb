module

public import ProofKV.Lemmas.Output
public import ProofKV.Lemmas.Witness

/-! Merging the accumulators of two blocks. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Merge**: numerators and denominators of two blocks, each taken under its own factor, add up after rescaling to a common factor. -/
theorem accumulator_merge {I J : List ι} {a r : ι → α} {c d m : α}
    (hc : 0 < c)
    (hd : 0 < d) :
    m / c * (sumOver I fun i => c * a i * r i) + m / d * (sumOver J fun i => d * a i * r i) =
      m * sumOver (I ++ J) fun i => a i * r i := by
  have h1 : (sumOver I fun i => c * a i * r i) = c * sumOver I fun i => a i * r i := by
    rw [← sumOver_mul]; exact sumOver_congr fun i _ => by grind
  have h2 : (sumOver J fun i => d * a i * r i) = d * sumOver J fun i => a i * r i := by
    rw [← sumOver_mul]; exact sumOver_congr fun i _ => by grind
  rw [h1, h2, sumOver_append]
  grind

example : (1 : Rat) / 2 * (sumOver tok fun i => 2 * half i * rad i) + 1 / 3 * (sumOver tok fun i => 3 * half i * rad i) =
    1 * sumOver (tok ++ tok) fun i => half i * rad i := accumulator_merge (by grind) (by grind)

end ProofKV
end

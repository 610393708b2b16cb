module

public import ProofKV.Lemmas.Quant

/-! Hermite's identity. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Hermite's identity**: the `n` values `⌊(m + k) / n⌋`, `k < n`, add up to `m`. -/
theorem hermite_sum_eq {n : Nat} (m : Int)
    (hn : 0 < n) :
    hermiteSum n m n = m := hermiteSum_eq hn m

example : hermiteSum 3 (-5) 3 = -5 := hermite_sum_eq _ (by omega)

end ProofKV
end

module

public import ProofKV.Lemmas.Output
public import ProofKV.Lemmas.Witness

/-! The exact decomposition of an attention output error. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Exact decomposition**: for any centre `c` the output error is the weight difference applied to the centred true values plus
the mean value error under the compressed weights. -/
theorem output_error_eq {I : List ι} {p q v v' : ι → α}
    (htotal : sumOver I p = sumOver I q)
    (c : α) :
    mean I p v - mean I q v' = (sumOver I fun i => (p i - q i) * (v i - c)) + mean I q fun i => v i - v' i :=
  output_decomposition htotal c

example : mean tok half ext - mean tok half rad =
    (sumOver tok fun i => (half i - half i) * (ext i - 7)) + mean tok half fun i => ext i - rad i :=
  output_error_eq rfl 7

end ProofKV
end

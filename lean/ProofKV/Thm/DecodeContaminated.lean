module

public import ProofKV.Base
public import ProofKV.Spec.Softmax
public import ProofKV.Spec.Refine

/-! A read-back of a generated token's own page is not a reference value. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Contaminated page**: each token is chosen by uniform attention over the values held, with no uncertainty at all:
token 1 if their mean exceeds 3/10, else token 0. From the same prompt, the cache that appends the exact value 1 of a
generated token decodes `[0, 1]`, the one that appends the value 1/5, computed from enclosed hidden states and read back
as if it were exact, decodes `[0, 0]`. -/
theorem decode_differs_of_contaminated_page :
    decode (fun s : List Rat => if 3 / 10 < mean s (nrm s fun _ => 1) id then 1 else 0) (fun s _ => s ++ [1]) 2 [0] =
        [0, 1] ∧
      decode (fun s : List Rat => if 3 / 10 < mean s (nrm s fun _ => 1) id then 1 else 0) (fun s _ => s ++ [1 / 5]) 2
        [0] = [0, 0] := by
  have h0 : ¬ (3 / 10 : Rat) < mean [0] (nrm [0] fun _ => 1) id := by simp only [mean, nrm, sumOver, id]; grind
  have h1 : (3 / 10 : Rat) < mean [0, 1] (nrm [0, 1] fun _ => 1) id := by simp only [mean, nrm, sumOver, id]; grind
  have h2 : ¬ (3 / 10 : Rat) < mean [0, 1 / 5] (nrm [0, 1 / 5] fun _ => 1) id := by
    simp only [mean, nrm, sumOver, id]; grind
  constructor
  · simp only [decode, List.cons_append, List.nil_append, h0, h1, if_true, if_false]
  · simp only [decode, List.cons_append, List.nil_append, h0, h2, if_false]

end ProofKV
end

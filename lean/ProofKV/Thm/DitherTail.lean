module

public import ProofKV.Lemmas.Dither
public import ProofKV.Thm.EvenMomentTail

/-! The tail of a logit error under subtractive dither. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Dither tail**: let the step-unit residues `r i` be independent and uniform on the `N` levels of a dither. The
error `∑ a i r i` of a dot product is at least `u > 0` in absolute value with probability at most
`(2 k - 1)!! (∑ a² / 12) ^ k / u ^ (2 k)`, for every `k`. The coefficients must not depend on the draw. -/
theorem prob_ditherSum_ge_le {N : Nat} {u : α}
    (hN : 0 < N)
    (hu : 0 < u) (a : List α) (k : Nat) :
    prob (ditherSum N a) Prod.fst (fun e => u ≤ absV e.2) ≤
      ofCount (oddFactorial k) * (sumOver a fun c => c * c * (1 / 12)) ^ k / u ^ (2 * k) := by
  have h := prob_sum_ge_le_even_moment (Ls := a.map fun c => ((ditherLaw N).scale c, c * c * (1 / 12))) (u := u)
    (fun L hL => by
      obtain ⟨c, _, rfl⟩ := List.mem_map.mp hL
      exact (ditherLaw_subGaussian hN).scale c) hu k
  rw [List.map_map, sumOver_map] at h
  exact h

example : prob (ditherSum 16 [(1 : Rat), 2]) Prod.fst (fun e => 3 ≤ absV e.2) ≤
    ofCount (oddFactorial 2) * (sumOver [1, 2] fun c => c * c * (1 / 12)) ^ 2 / 3 ^ (2 * 2) :=
  prob_ditherSum_ge_le (by omega) (by grind) [1, 2] 2

end ProofKV
end

module

public import ProofKV.Lemmas.Logits

/-! Grouped queries: each query head uses its own norm and the witness of its key head. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Grouped queries**: with `G` query heads for one key head, the bound of query head `h` uses its own norm and the witness of
key head `h / G`; one bound `c` of all heads of the group is a bound for each of them. -/
theorem logit_gqa_le {I : List ι} {G : Nat} {q : Nat → ι → α} {r : Nat → ι → α} {nq nr : Nat → α} {scale c : α} {h : Nat}
    (hscale : 0 ≤ scale)
    (hnq : 0 ≤ nq h)
    (hnr : 0 ≤ nr (h / G))
    (hq : dot I (q h) (q h) ≤ nq h * nq h)
    (hr : dot I (r (h / G)) (r (h / G)) ≤ nr (h / G) * nr (h / G))
    (hc : ∀ g, g / G = h / G → scale * (nq g * nr (h / G)) ≤ c) :
    absV (scale * dot I (q h) (r (h / G))) ≤ c := by
  refine Std.le_trans ?_ (hc h rfl)
  rw [absV_mul]
  have e : absV scale = scale := by have := absV_cases scale; grind
  rw [e]
  exact mul_le_left hscale (absV_dot_le hnq hnr hq hr)

example : absV ((1 : Rat) * dot [()] (fun _ => 1) fun _ => 2) ≤ 2 :=
  logit_gqa_le (G := 2) (q := fun _ _ => 1) (r := fun _ _ => 2) (nq := fun _ => 1) (nr := fun _ => 2) (h := 3) (by grind) (by grind)
    (by grind) (by simp only [dot, sumOver]; grind) (by simp only [dot, sumOver]; grind) fun _ _ => by grind

end ProofKV
end

module

public import ProofKV.Spec.Logits

/-! The certified margin of a candidate over a rival. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v} {κ : Type w} [Field α]

/-- The margin of the candidate `c` over the rival `i` that is certain: rows `W`, centre `g` and radius `ε` of the hidden state, own
scores `s` with radii `r`, and `n i` a bound of the norm of the difference of the two rows. -/
def pairMargin (K : List κ) (W : ι → κ → α) (g : κ → α) (s r n : ι → α) (ε : α) (c i : ι) : α :=
  dot K (fun k => W c k - W i k) g + s c - s i - n i * ε - r c - r i

end ProofKV
end
end

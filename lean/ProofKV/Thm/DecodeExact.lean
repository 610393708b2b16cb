module

public import ProofKV.Lemmas.Refine

/-! Sequence-level exactness by simulation over tokens. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Sequence exactness**: if every step's choice equals the reference choice for the originals that the cache holds, and after every token
the originals, those of the generated token included, are again what the reference cache holds, then all tokens are equal. -/
theorem decode_eq_of_reference_pages {S : Type w} {S' : Type x} {T : Type v} {next : S → T} {update : S → T → S} {next' : S' → T}
    {update' : S' → T → S'} {originals : S' → S} (n : Nat) (s' : S')
    (hstep : ∀ s', next' s' = next (originals s'))
    (hpages : ∀ s' t, originals (update' s' t) = update (originals s') t) :
    decode next' update' n s' = decode next update n (originals s') := by
  induction n generalizing s' with
  | zero => rfl
  | succ n ih => simp only [decode, hstep, ih, hpages]

example : decode (fun s : Nat => s % 2) (fun s t => s + t) 3 7 = decode (fun s : Nat => s % 2) (fun s t => s + t) 3 7 :=
  decode_eq_of_reference_pages (originals := id) 3 7 (fun _ => rfl) fun _ _ => rfl

end ProofKV
end

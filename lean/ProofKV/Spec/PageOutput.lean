module

public import ProofKV.Spec.Softmax

/-! Attention output when some tokens are opened: exact weights and values on the opened ones, compressed ones elsewhere. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v} {κ : Type w}

/-- The exact value `x i` where `T i` holds, the compressed value `y i` elsewhere. -/
def pick {β : Type w} (T : ι → Prop) (x y : ι → β) (i : ι) : β := if T i then x i else y i

variable [Field α]

/-- The attention output of the weights `W` and the values `Y`, a vector. -/
def attend (I : List ι) (W : ι → α) (Y : ι → κ → α) (k : κ) : α := mean I (nrm I W) fun i => Y i k

/-- The largest share that page `p` can have when every weight is within the ratio `ρ` of its page from the compressed
weight `w'`. -/
def pageTop {π : Type w} (I : List ι) (page : ι → π) (ρ : π → α) (w' : ι → α) (p : π) : α :=
  sumIf (fun i => page i = p) I (fun i => ρ (page i) * w' i) /
    (sumIf (fun i => page i = p) I (fun i => ρ (page i) * w' i) +
      sumIf (fun i => ¬ page i = p) I fun i => w' i / ρ (page i))

/-- The charge of page `p`: its largest share times the loss of one token, `(1 - 1 / ρ) D + η`. -/
def pageCharge {π : Type w} (I : List ι) (page : ι → π) (ρ D η : π → α) (w' : ι → α) (p : π) : α :=
  pageTop I page ρ w' p * ((1 - 1 / ρ p) * D p + η p)

end ProofKV
end
end

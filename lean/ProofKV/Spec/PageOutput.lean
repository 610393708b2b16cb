module

public import ProofKV.Spec.Softmax

/-! Attention output when some tokens are opened: exact weights and values on the opened ones, compressed ones elsewhere.
Definitions only. -/

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

/-- What the sidecars of the pages promise: ratios of weights, norms of value errors, and distances of compressed values.
`B x t` reads "the norm of `x` is at most `t`". -/
structure PageRadii {π : Type w} [LE α] [LT α] (B : (κ → α) → α → Prop) (I : List ι) (page : ι → π) (w w' : ι → α)
    (v v' : ι → κ → α) (ρ D η : π → α) : Prop where
  /-- The compressed weights are positive. -/
  pos : ∀ i ∈ I, 0 < w' i
  /-- Every ratio bound is at least one. -/
  one_le : ∀ p, 1 ≤ ρ p
  /-- No exact weight is above the compressed weight by more than the ratio of its page. -/
  upper : ∀ i ∈ I, w i ≤ ρ (page i) * w' i
  /-- No exact weight is below the compressed weight by more than the ratio of its page. -/
  lower : ∀ i ∈ I, w' i ≤ ρ (page i) * w i
  /-- The error of a value is at most the radius of its page. -/
  value : ∀ i ∈ I, B (fun k => v i k - v' i k) (η (page i))
  /-- The distance of two compressed values and the two radii make at most `D` of the first page. -/
  spread : ∀ i ∈ I, ∀ j ∈ I, B (fun k => v' i k - v' j k) (D (page i) - η (page i) - η (page j))
  /-- No radius is negative. -/
  radius_nonneg : ∀ p, 0 ≤ η p
  /-- No spread is negative. -/
  spread_nonneg : ∀ p, 0 ≤ D p

end ProofKV
end
end

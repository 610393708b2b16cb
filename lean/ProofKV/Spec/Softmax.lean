module

public import ProofKV.Spec.Order

/-! Attention weights in multiplicative form: no exponential is needed, only positive weights and their ratios.
`p` is the distribution that the compressed cache gives, `w i` the ratio of the exact to the compressed weight of token
`i`, `tilt I p w` the exact distribution. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] {ι : Type v}

/-- The normalised weights `w i / sum w`: the softmax in multiplicative form. -/
def nrm (I : List ι) (w : ι → α) (i : ι) : α := w i / sumOver I w

/-- The distribution `p` tilted by the ratios `w`. -/
def tilt (I : List ι) (p w : ι → α) (i : ι) : α := p i * w i / sumOver I fun j => p j * w j

/-- The mean of `f` under the weights `p`: one coordinate of an attention output. -/
def mean (I : List ι) (p f : ι → α) : α := sumOver I fun i => p i * f i

/-- What choosing the share `x i` of every token gains: the mass of the choice under the extreme tilt (`u` on the
choice, `l` off it) minus its mass under `p`. -/
def gain (I : List ι) (p l u x : ι → α) : α :=
  (sumOver I fun i => x i * (p i * u i)) /
      ((sumOver I fun i => x i * (p i * u i)) + sumOver I fun i => (1 - x i) * (p i * l i)) -
    sumOver I fun i => x i * p i

variable [LE α]

/-- Total variation distance: half the sum of absolute differences. -/
def tv (I : List ι) (p q : ι → α) : α := (sumOver I fun i => absV (p i - q i)) / 2

/-- `p` is a probability distribution on the list. -/
structure IsDist (I : List ι) (p : ι → α) : Prop where
  /-- No mass is negative. -/
  nonneg : ∀ i ∈ I, 0 ≤ p i
  /-- The masses sum to one. -/
  total : sumOver I p = 1

/-- Every share lies between zero and one. -/
def IsShare (I : List ι) (x : ι → α) : Prop := ∀ i ∈ I, 0 ≤ x i ∧ x i ≤ 1

variable [LT α]

/-- Every ratio `w i` lies in the positive interval `[l i, u i]`. -/
structure InBox (I : List ι) (l u w : ι → α) : Prop where
  /-- The lower ends are positive. -/
  pos : ∀ i ∈ I, 0 < l i
  /-- No ratio is below its interval. -/
  lower : ∀ i ∈ I, l i ≤ w i
  /-- No ratio is above its interval. -/
  upper : ∀ i ∈ I, w i ≤ u i

/-- Every ratio `w i` lies in `[1 / r i, r i]` with `1 ≤ r i`; `r` is the exponential of the logit radius. -/
structure InRatio (I : List ι) (r w : ι → α) : Prop where
  /-- Every ratio bound is at least one. -/
  one_le : ∀ i ∈ I, 1 ≤ r i
  /-- `1 / r i ≤ w i`, written without division. -/
  lower : ∀ i ∈ I, 1 ≤ r i * w i
  /-- `w i ≤ r i`. -/
  upper : ∀ i ∈ I, w i ≤ r i

omit [LT α] in
/-- The price line of a threshold choice at output mass `s` and multiplier `mu`: every choice that reaches the mass `s`
under the extreme tilt has at least this mass under `p`. -/
def priceLine (I : List ι) (p l u : ι → α) (mu s : α) : α :=
  mu * s * (sumOver I fun i => p i * l i) -
    sumOver I fun i => p i * posPart (mu * ((1 - s) * u i + s * l i) - 1)

omit [LT α] [LE α] in
/-- One cell of a dual certificate: an interval of output masses and a multiplier. -/
structure Cell (α : Type u) where
  /-- Lower end of the cell. -/
  lo : α
  /-- Upper end of the cell. -/
  hi : α
  /-- Multiplier; any non-negative value is sound. -/
  mu : α

omit [LT α] in
/-- The cells cover the output masses from zero to one. -/
def Covers (cells : List (Cell α)) : Prop := ∀ s : α, 0 ≤ s → s ≤ 1 → ∃ c ∈ cells, c.lo ≤ s ∧ s ≤ c.hi

/-- The hinge sum of a bin `[L, R]` from its mass `m`, its raised mass `a` and its lowered mass `b`: exact when the whole
bin is above the threshold or has no width, else the chord of the convex hinge. -/
def binHinge (L R m a b mu s : α) : α :=
  if 1 ≤ mu * ((1 - s) * L + s * R⁻¹) then mu * ((1 - s) * a + s * b) - m
  else if L < R then (posPart (mu * ((1 - s) * L + s * L⁻¹) - 1) * (m * R - a) +
    posPart (mu * ((1 - s) * R + s * R⁻¹) - 1) * (a - m * L)) / (R - L)
  else posPart (mu * ((1 - s) * R + s * R⁻¹) - 1) * m

/-- The price line with every hinge sum replaced by that of its bin. -/
def momentPrice {κ : Type w} (K : List κ) (L R m a b : κ → α) (mu s : α) : α :=
  mu * s * sumOver K b - sumOver K fun k => binHinge (L k) (R k) (m k) (a k) (b k) mu s

end ProofKV
end
end

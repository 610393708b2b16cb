module

public import ProofKV.Spec.Order

/-! Threshold sets with two sides. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] {ι : Type v}

omit [LE α] in
/-- The shares of a threshold set with two sides: the whole of every token whose place in the order `o` is before that of
`i` or after that of `j`, the part `t` of the tokens at the place of `c`, and nothing of the others. -/
def twoSided (o : ι → α) (i j c : ι) (t : α) (k : ι) : α :=
  if o k < o i ∨ o j < o k then 1 else if o k = o c then t else 0

/-- The largest gain as one class is taken in part, in closed form: `a` and `P` are the raised mass and the mass without
the class, `b` the lowered mass of the tokens not taken, `m` the mass of the class with the ends `l` and `u`, and `y` at
most the root of `b u + a l`, which does not change with the part. -/
def classValue (a b P m l u y : α) : α :=
  if l < u then
    if b * u + a * l ≤ (a + b) * (a + b) then a / (a + b) - P
    else if (a + b + m * (u - l)) * (a + b + m * (u - l)) ≤ b * u + a * l then
      (a + m * u) / (a + b + m * (u - l)) - (P + m)
    else (u + (a + b) - 2 * y) / (u - l) - P
  else maxV (a / (a + b) - P) ((a + m * u) / (a + b + m * (u - l)) - (P + m))

/-- `classValue` of the class of `c` beside the tokens before `i` and after `j` in the order `o`. -/
def thresholdValue (I : List ι) (p r o : ι → α) (i j c : ι) (y : α) : α :=
  classValue (sumIf (fun k => o k < o i ∨ o j < o k) I fun k => p k * r k)
    ((sumOver I fun k => p k * (r k)⁻¹) - sumIf (fun k => o k < o i ∨ o j < o k) I fun k => p k * (r k)⁻¹)
    (sumIf (fun k => o k < o i ∨ o j < o k) I p) (sumIf (fun k => o k = o c) I p) (r c)⁻¹ (r c) y

omit [LE α] in
/-- The number whose root `thresholdValue` takes. -/
def thresholdRadicand (I : List ι) (p r o : ι → α) (i j c : ι) : α :=
  ((sumOver I fun k => p k * (r k)⁻¹) - sumIf (fun k => o k < o i ∨ o j < o k) I fun k => p k * (r k)⁻¹) * r c +
    (sumIf (fun k => o k < o i ∨ o j < o k) I fun k => p k * r k) * (r c)⁻¹

end ProofKV
end
end

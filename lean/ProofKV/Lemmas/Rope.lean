module

public import ProofKV.Base
public import ProofKV.Spec.Rope
public import ProofKV.Lemmas.Logits

/-! Lemmas on turned vectors. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

variable {κ : Type w}

/-- A sum does not depend on the order of the list. -/
theorem sumOver_perm {I J : List ι} (h : I.Perm J) (f : ι → α) : sumOver I f = sumOver J f := by
  induction h with
  | nil => rfl
  | cons a _ ih => simp only [sumOver, ih]
  | swap a b l => simp only [sumOver]; grind
  | trans _ _ h1 h2 => exact h1.trans h2

/-- A sum over the coordinates of planes, plane by plane. -/
theorem sumOver_planes (fst snd : κ → ι) (f : ι → α) : ∀ P : List κ,
    sumOver (planeCoords fst snd P) f = sumOver P fun b => f (fst b) + f (snd b)
  | [] => rfl
  | b :: P => by have := sumOver_planes fst snd f P; simp only [planeCoords, sumOver]; grind

/-- A sum over all coordinates: planes first, then the rest. -/
theorem sumOver_split {I rest : List ι} {P : List κ} {fst snd : κ → ι} (h : I.Perm (planeCoords fst snd P ++ rest))
    (f : ι → α) : sumOver I f = (sumOver P fun b => f (fst b) + f (snd b)) + sumOver rest f := by
  rw [sumOver_perm h, sumOver_append, sumOver_planes]

/-- Turning keeps the norm. -/
theorem turned_dot_self {I rest : List ι} {P : List κ} {fst snd : κ → ι} {c s : κ → α} {x y : ι → α}
    (h : I.Perm (planeCoords fst snd P ++ rest)) (hcs : ∀ b ∈ P, c b * c b + s b * s b = 1)
    (hy : Turned P rest fst snd c s x y) : dot I y y = dot I x x := by
  unfold dot
  rw [sumOver_split h, sumOver_split h]
  have e1 : (sumOver P fun b => y (fst b) * y (fst b) + y (snd b) * y (snd b)) =
      sumOver P fun b => x (fst b) * x (fst b) + x (snd b) * x (snd b) := sumOver_congr fun b hb => by
    rw [hy.first b hb, hy.second b hb]
    have := hcs b hb
    grind
  have e2 : (sumOver rest fun i => y i * y i) = sumOver rest fun i => x i * x i := sumOver_congr fun i hi => by
    rw [hy.still i hi]
  rw [e1, e2]

/-- Turning one side is turning the other back. -/
theorem turned_dot_back {I rest : List ι} {P : List κ} {fst snd : κ → ι} {c s : κ → α} {x y q p : ι → α}
    (h : I.Perm (planeCoords fst snd P ++ rest)) (hy : Turned P rest fst snd c s x y)
    (hp : Turned P rest fst snd c (fun b => -s b) q p) : dot I q y = dot I p x := by
  unfold dot
  rw [sumOver_split h, sumOver_split h]
  have e1 : (sumOver P fun b => q (fst b) * y (fst b) + q (snd b) * y (snd b)) =
      sumOver P fun b => p (fst b) * x (fst b) + p (snd b) * x (snd b) := sumOver_congr fun b hb => by
    rw [hy.first b hb, hy.second b hb, hp.first b hb, hp.second b hb]
    grind
  have e2 : (sumOver rest fun i => q i * y i) = sumOver rest fun i => p i * x i := sumOver_congr fun i hi => by
    rw [hy.still i hi, hp.still i hi]
  rw [e1, e2]

/-- What an uncertain query adds: the difference of the two dot products, term by term. -/
theorem dot_perturbed (I : List ι) (q dq k dk : ι → α) :
    dot I (fun i => q i + dq i) (fun i => k i + dk i) - dot I q k =
      dot I q dk + (dot I dq k + dot I dq dk) := by
  rw [dot_add_left, dot_add_right, dot_add_right]; grind

/-- A bound of a scaled number. -/
theorem absV_scale_le {scale a b : α} (h : 0 ≤ scale) (hab : absV a ≤ b) : absV (scale * a) ≤ scale * b := by
  rw [absV_mul]
  have e : absV scale = scale := by have := absV_cases scale; grind
  rw [e]
  exact mul_le_left h hab

end ProofKV
end

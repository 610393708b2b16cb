module

public import ProofKV.Spec.Softmax

/-! Executable checkers: each returns `true` only when a certificate over the rationals is valid. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} {ι : Type v}

/-- A token of a certificate: identity, compressed weight and ratio bound. -/
structure Entry where
  /-- Identity of the token. -/
  id : Nat
  /-- Compressed weight. -/
  p : Rat
  /-- Ratio bound. -/
  r : Rat

/-- The sum of `f` over a list of rational certificates. -/
def sumRat (f : Entry → Rat) : List Entry → Rat
  | [] => 0
  | a :: I => f a + sumRat f I

/-- The weights are a distribution and the ratio bounds are at least one. -/
def checkEntries (I : List Entry) : Bool :=
  I.all (fun a => decide (0 ≤ a.p) && decide (1 ≤ a.r)) && decide (sumRat (·.p) I = 1)

/-- Every pair of different tokens has a product of ratio bounds of at most `k²`. -/
def checkPairs (k : Rat) : List Entry → Bool
  | [] => true
  | a :: I => I.all (fun b => decide (a.r * b.r ≤ k * k)) && checkPairs k I

/-- The odds bound with cap `k` is at most `T`. -/
def checkTvOdds (I : List Entry) (k T : Rat) : Bool :=
  checkEntries I && decide (1 ≤ k) && checkPairs k I && decide ((k - 1) / (k + 1) ≤ T)

/-- The mean bound is at most `T`. -/
def checkTvMean (I : List Entry) (T : Rat) : Bool :=
  checkEntries I && decide (sumRat (fun a => a.p * a.r) I ≤ 2) && decide (1 - 1 / sumRat (fun a => a.p * a.r) I ≤ T)

/-- The hinge bound with cap `k` is at most `T`. -/
def checkTvHinge (I : List Entry) (k T : Rat) : Bool :=
  let E := sumRat (fun a => a.p * (if k ≤ a.r then a.r - k else 0)) I
  checkEntries I && decide (1 ≤ k) && decide (E ≤ k) && decide ((k - 1) / (k + 1) + k * E / (1 + k * E) ≤ T)

/-- The winner's interval is above every other interval. An interval is a pair of a lower and an upper end. -/
def checkMargin (winner : Rat × Rat) (others : List (Rat × Rat)) : Bool :=
  others.all fun a => decide (a.2 < winner.1)

/-- Every interval of the second list lies in the interval of the first list at the same place. -/
def checkNested : List (Rat × Rat) → List (Rat × Rat) → Bool
  | [], [] => true
  | a :: I, b :: J => decide (a.1 ≤ b.1) && decide (b.2 ≤ a.2) && checkNested I J
  | _, _ => false

/-- A trace of enclosures, each nested in the one before, ends with a certified winner: the head of every enclosure. -/
def checkTrace : List (List (Rat × Rat)) → Bool
  | [] => false
  | [e] => match e with
    | [] => false
    | w :: others => checkMargin w others
  | e :: e' :: rest => checkNested e e' && checkTrace (e' :: rest)

/-- The spent failure probabilities are not negative and stay within the budget. -/
def checkLedger (spent : List Rat) (budget : Rat) : Bool :=
  spent.all (fun d => decide (0 ≤ d)) && decide (spent.foldr (· + ·) 0 ≤ budget)

/-- The logits lie in the intervals at their places. -/
inductive Holds : List Rat → List (Rat × Rat) → Prop
  /-- Nothing to hold. -/
  | nil : Holds [] []
  /-- The first logit lies in the first interval, the others in theirs. -/
  | cons {x : Rat} {a : Rat × Rat} {X : List Rat} {I : List (Rat × Rat)} : a.1 ≤ x → x ≤ a.2 → Holds X I → Holds (x :: X) (a :: I)

end ProofKV
end
end

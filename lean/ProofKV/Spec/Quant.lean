module

public import ProofKV.Spec.Order

/-! Uniform quantizers over the rationals. Definitions only. -/

@[expose] public section
noncomputable section

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} {ι : Type v}

/-- Rounding to the nearest integer, halves upward. -/
def rnd (x : Rat) : Int := (x + 1 / 2).floor

/-- Uniform quantization with step `s`. -/
def quant (s x : Rat) : Rat := s * (rnd (x / s) : Rat)

/-- Integer clipping. -/
def clipInt (lo hi n : Int) : Int := max lo (min n hi)

/-- Uniform quantization with codes clipped to `[lo, hi]`. -/
def quantClip (lo hi : Int) (s x : Rat) : Rat := s * (clipInt lo hi (rnd (x / s)) : Rat)

/-- Quantization with a zero point: the code is `round (x / s) + z`, the value is `s (code - z)`. -/
def quantZero (lo hi z : Int) (s x : Rat) : Rat := s * ((clipInt lo hi (rnd (x / s) + z) - z : Int) : Rat)

/-- Subtractive dither: `u` is added before rounding and taken away after. -/
def quantDither (s u x : Rat) : Rat := s * ((rnd (x / s + u) : Rat) - u)

/-- Stochastic rounding up with probability equal to the fractional part: the mean of the two outcomes. -/
def stochasticMean (x : Rat) : Rat := (1 - (x - x.floor)) * x.floor + (x - x.floor) * (x.floor + 1)

/-- The sum of `⌊(m + k) / n⌋` over the first `t` offsets `k`. -/
def hermiteSum (n : Nat) (m : Int) : Nat → Int
  | 0 => 0
  | t + 1 => hermiteSum n m t + (m + t) / n

end ProofKV
end
end

module

public import ProofKV.Lemmas.Probability
public import ProofKV.Spec.Moments

/-! Moments of sums of independent values, through divided powers and the Cauchy product. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- The Cauchy product with the last term taken off. -/
theorem cauchy_succ (g : Nat → α) : ∀ (n : Nat) (f : Nat → α),
    cauchy f g (n + 1) = cauchy f (fun j => g (j + 1)) n + f (n + 1) * g 0
  | 0, f => by simp only [cauchy]
  | n + 1, f => by
    have h := cauchy_succ g n fun j => f (j + 1)
    rw [cauchy, h]
    simp only [cauchy]
    grind

/-- The Leibniz rule of the Cauchy product. -/
theorem cauchy_euler (g : Nat → α) : ∀ (n : Nat) (a : α) (f : Nat → α),
    (a + ofCount n) * cauchy f g n =
      cauchy (fun j => (a + ofCount j) * f j) g n + cauchy f (fun j => ofCount j * g j) n
  | 0, a, f => by simp only [cauchy, ofCount]; grind
  | n + 1, a, f => by
    have h := cauchy_euler g n (a + 1) fun j => f (j + 1)
    have e : (fun j => (a + 1 + ofCount j) * f (j + 1)) = fun j => (a + ofCount (j + 1)) * f (j + 1) := by
      funext j; simp only [ofCount]; grind
    rw [e] at h
    have e2 : (ofCount (n + 1) : α) = ofCount n + 1 := rfl
    simp only [cauchy]
    rw [e2]
    have e3 : (ofCount 0 : α) = 0 := rfl
    rw [e3]
    grind

/-- A factor comes out of the Cauchy product on the left. -/
theorem cauchy_mul_left (c : α) (g : Nat → α) : ∀ (n : Nat) (f : Nat → α),
    cauchy (fun j => c * f j) g n = c * cauchy f g n
  | 0, f => by simp only [cauchy]; grind
  | n + 1, f => by
    have h := cauchy_mul_left c g n fun j => f (j + 1)
    simp only [cauchy]; grind

/-- A factor comes out of the Cauchy product on the right. -/
theorem cauchy_mul_right (c : α) (g : Nat → α) : ∀ (n : Nat) (f : Nat → α),
    cauchy f (fun j => c * g j) n = c * cauchy f g n
  | 0, f => by simp only [cauchy]; grind
  | n + 1, f => by
    have h := cauchy_mul_right c g n fun j => f (j + 1)
    simp only [cauchy]; grind

/-- Natural numbers above zero are not zero in the field. -/
theorem ofCount_succ_ne (n : Nat) : (ofCount (n + 1) : α) ≠ 0 := by
  have := ofCount_ps (α := α) (n := n + 1) (by omega)
  grind

/-- The recursion of divided powers without division. -/
theorem dpow_succ (n : Nat) (x : α) : ofCount (n + 1) * dpow (n + 1) x = x * dpow n x := by
  have := ofCount_succ_ne (α := α) n
  simp only [dpow]
  generalize (ofCount (n + 1) : α) = m at *
  grind

/-- The binomial theorem in divided powers. -/
theorem dpow_add (x y : α) : ∀ n : Nat, dpow n (x + y) = cauchy (fun j => dpow j x) (fun j => dpow j y) n
  | 0 => by simp only [dpow, cauchy]; grind
  | n + 1 => by
    have ih := dpow_add x y n
    have h0 := ofCount_succ_ne (α := α) n
    have h1 := cauchy_euler (fun j => dpow j y) (n + 1) 0 fun j => dpow j x
    have h2 : cauchy (fun j => (0 + ofCount j) * dpow j x) (fun j => dpow j y) (n + 1) =
        x * cauchy (fun j => dpow j x) (fun j => dpow j y) n := by
      have e : (fun j => (0 + ofCount (j + 1)) * dpow (j + 1) x) = fun j => x * dpow j x := by
        funext j; have := dpow_succ j x; grind
      rw [← cauchy_mul_left, ← e]
      have e0 : (ofCount 0 : α) = 0 := rfl
      simp only [cauchy, e0]
      grind
    have h3 : cauchy (fun j => dpow j x) (fun j => ofCount j * dpow j y) (n + 1) =
        y * cauchy (fun j => dpow j x) (fun j => dpow j y) n := by
      have e : (fun j => ofCount (j + 1) * dpow (j + 1) y) = fun j => y * dpow j y := by
        funext j; exact dpow_succ j y
      have e0 : (ofCount 0 : α) = 0 := rfl
      rw [cauchy_succ, e, cauchy_mul_right, e0]
      grind
    rw [h2, h3] at h1
    have h4 := dpow_succ n (x + y)
    rw [ih] at h4
    generalize cauchy (fun j => dpow j x) (fun j => dpow j y) n = C at *
    generalize cauchy (fun j => dpow j x) (fun j => dpow j y) (n + 1) = C' at *
    generalize (ofCount (n + 1) : α) = m at *
    generalize dpow (n + 1) (x + y) = D at *
    grind

/-- The Cauchy product is monotone on non-negative sequences. -/
theorem cauchy_le {g g' : Nat → α} (hg : ∀ j, 0 ≤ g j) (hgg : ∀ j, g j ≤ g' j) : ∀ (n : Nat) {f f' : Nat → α},
    (∀ j, 0 ≤ f j) → (∀ j, f j ≤ f' j) → cauchy f g n ≤ cauchy f' g' n
  | 0, f, f', hf, hff => by
    have := hff 0; have := hf 0
    exact mul_le_both (hf 0) (by have := hg 0; have := hgg 0; grind) (hff 0) (hgg 0)
  | n + 1, f, f', hf, hff => by
    have h1 := cauchy_le hg hgg n (f := fun j => f (j + 1)) (f' := fun j => f' (j + 1)) (fun j => hf _) fun j => hff _
    have h2 := mul_le_both (hf 0) (d := g' (n + 1)) (by have := hg (n + 1); have := hgg (n + 1); grind) (hff 0)
      (hgg (n + 1))
    simp only [cauchy]; grind

/-- The Cauchy product at an even index when the odd entries of one sequence vanish. -/
theorem cauchy_even (g : Nat → α) : ∀ (k : Nat) {f : Nat → α}, (∀ j, f (2 * j + 1) = 0) →
    cauchy f g (2 * k) = cauchy (fun j => f (2 * j)) (fun j => g (2 * j)) k
  | 0, f, _ => rfl
  | k + 1, f, hf => by
    have h := cauchy_even g k (f := fun j => f (j + 1 + 1)) fun j => hf (j + 1)
    have h1 : f (0 + 1) = 0 := hf 0
    rw [show 2 * (k + 1) = 2 * k + 1 + 1 by omega]
    simp only [cauchy]
    rw [h, h1]
    simp only [Nat.mul_zero]
    rw [show (fun j => f (2 * j + 1 + 1)) = fun j => f (2 * (j + 1)) from rfl,
      show g (2 * (k + 1)) = g (2 * k + 1 + 1) from rfl]
    grind

/-- The Cauchy product at an odd index vanishes when the odd entries of both sequences do. -/
theorem cauchy_odd {g : Nat → α} (hg : ∀ j, g (2 * j + 1) = 0) : ∀ (k : Nat) {f : Nat → α},
    (∀ j, f (2 * j + 1) = 0) → cauchy f g (2 * k + 1) = 0
  | 0, f, hf => by
    have h1 : f (0 + 1) = 0 := hf 0
    have h2 : g (0 + 1) = 0 := hg 0
    simp only [cauchy]
    rw [h1, h2]; grind
  | k + 1, f, hf => by
    have h := cauchy_odd hg k (f := fun j => f (j + 1 + 1)) fun j => hf (j + 1)
    have h1 : f (0 + 1) = 0 := hf 0
    have h2 : g (2 * k + 1 + 1 + 1) = 0 := hg (k + 1)
    rw [show 2 * (k + 1) + 1 = 2 * k + 1 + 1 + 1 by omega]
    simp only [cauchy] at h ⊢
    rw [h, h1, h2]
    grind

/-- Weighted sums enter the first sequence of a Cauchy product. -/
theorem sumOver_cauchy_left {I : List ι} (w : ι → α) (g : Nat → α) : ∀ (n : Nat) (f : ι → Nat → α),
    (sumOver I fun i => w i * cauchy (f i) g n) = cauchy (fun j => sumOver I fun i => w i * f i j) g n
  | 0, f => by
    simp only [cauchy]
    rw [← sumOver_mul_right]
    exact sumOver_congr fun i _ => by grind
  | n + 1, f => by
    have h := sumOver_cauchy_left (I := I) w g n fun i j => f i (j + 1)
    simp only [cauchy]
    rw [← h, ← sumOver_mul_right, ← sumOver_add]
    exact sumOver_congr fun i _ => by grind

/-- Weighted sums enter the second sequence of a Cauchy product. -/
theorem sumOver_cauchy_right {I : List ι} (w : ι → α) (g : ι → Nat → α) : ∀ (n : Nat) (f : Nat → α),
    (sumOver I fun i => w i * cauchy f (g i) n) = cauchy f (fun j => sumOver I fun i => w i * g i j) n
  | 0, f => by
    simp only [cauchy]
    rw [← sumOver_mul]
    exact sumOver_congr fun i _ => by grind
  | n + 1, f => by
    have h := sumOver_cauchy_right (I := I) w g n fun j => f (j + 1)
    simp only [cauchy]
    rw [← h, ← sumOver_mul, ← sumOver_add]
    exact sumOver_congr fun i _ => by grind

/-- The sum over a flattened list. -/
theorem sumOver_flatMap {κ : Type w} (f : ι → α) (g : κ → List ι) :
    ∀ J : List κ, sumOver (J.flatMap g) f = sumOver J fun j => sumOver (g j) f
  | [] => rfl
  | j :: J => by simp only [List.flatMap_cons, sumOver_append, sumOver_flatMap f g J, sumOver]

/-- Means under the law of a sum. -/
theorem Law.mean_add (L L' : Law α) (g : α → α) :
    (L.add L').mean g = sumOver L fun a => a.1 * L'.mean fun y => g (a.2 + y) := by
  unfold Law.mean Law.add
  rw [sumOver_flatMap]
  refine sumOver_congr fun a _ => ?_
  rw [sumOver_map, ← sumOver_mul]
  exact sumOver_congr fun b _ => by grind

/-- The divided moments of a sum are the Cauchy product of those of its parts. -/
theorem Law.mean_add_dpow (L L' : Law α) (n : Nat) :
    (L.add L').mean (dpow n) = cauchy (fun j => L.mean (dpow j)) (fun j => L'.mean (dpow j)) n := by
  rw [Law.mean_add]
  have e : ∀ a : α × α, (L'.mean fun y => dpow n (a.2 + y)) =
      cauchy (fun j => dpow j a.2) (fun j => L'.mean (dpow j)) n := by
    intro a
    unfold Law.mean
    rw [← sumOver_cauchy_right]
    exact sumOver_congr fun b _ => by simp only [dpow_add]
  simp only [e]
  exact sumOver_cauchy_left (I := L) (fun a => a.1) (fun j => L'.mean (dpow j)) n fun a j => dpow j a.2

/-- Powers through divided powers. -/
theorem pow_eq_dpow (x : α) : ∀ n : Nat, x ^ n = fac n * dpow n x
  | 0 => by simp only [fac, dpow]; grind
  | n + 1 => by
    have h := pow_eq_dpow x n
    have h1 := dpow_succ n x
    rw [Semiring.pow_succ, h]
    simp only [fac]
    grind

/-- Divided powers of a product. -/
theorem dpow_mul (c x : α) : ∀ n : Nat, dpow n (c * x) = c ^ n * dpow n x
  | 0 => by simp only [dpow]; grind
  | n + 1 => by
    have h := dpow_mul c x n
    have h0 := ofCount_succ_ne (α := α) n
    rw [Semiring.pow_succ]
    simp only [dpow]
    rw [h]
    generalize (ofCount (n + 1) : α) = m at *
    grind

/-- Factorials are positive. -/
theorem fac_ps : ∀ n : Nat, (0 : α) < fac n
  | 0 => one_pos
  | n + 1 => mul_ps (fac_ps n) (ofCount_ps (by omega))

/-- Counts add. -/
theorem ofCount_add (m : Nat) : ∀ n : Nat, (ofCount (m + n) : α) = ofCount m + ofCount n
  | 0 => by simp only [ofCount, Nat.add_zero]; grind
  | n + 1 => by
    have h : (ofCount (m + n) : α) = ofCount m + ofCount n := ofCount_add m n
    rw [← Nat.add_assoc]
    simp only [ofCount]; grind

/-- Counts multiply. -/
theorem ofCount_mul (m : Nat) : ∀ n : Nat, (ofCount (m * n) : α) = ofCount m * ofCount n
  | 0 => by simp only [ofCount, Nat.mul_zero]; grind
  | n + 1 => by
    have h : (ofCount (m * n) : α) = ofCount m * ofCount n := ofCount_mul m n
    rw [Nat.mul_succ, ofCount_add, h]
    simp only [ofCount]; grind

/-- The factorial of an even number. -/
theorem fac_even : ∀ k : Nat, (fac (2 * k) : α) = ofCount (oddFactorial k) * (2 : α) ^ k * fac k
  | 0 => by simp only [fac, oddFactorial, ofCount]; grind
  | k + 1 => by
    have h : (fac (2 * k) : α) = _ := fac_even k
    have h1 : (ofCount (2 * k) : α) = ofCount 2 * ofCount k := ofCount_mul 2 k
    have h2 : (ofCount 2 : α) = 2 := by simp only [ofCount]; grind
    rw [show 2 * (k + 1) = 2 * k + 1 + 1 by omega]
    simp only [fac, oddFactorial, ofCount_mul, Semiring.pow_succ]
    simp only [ofCount]
    rw [h, h1, h2]
    grind

/-- Even divided moments bound even moments and back. -/
theorem even_moment_iff {m V : α} (k : Nat) :
    fac (2 * k) * m ≤ ofCount (oddFactorial k) * V ^ k ↔ m ≤ dpow k (V / 2) := by
  have h0 := fac_ps (α := α) (2 * k)
  have e : ofCount (oddFactorial k) * V ^ k = fac (2 * k) * dpow k (V / 2) := by
    have h1 := dpow_mul (2 : α) (V / 2) k
    have h2 : 2 * (V / 2) = V := by have := one_pos (α := α); grind
    rw [h2] at h1
    rw [fac_even, pow_eq_dpow V k, h1]
    grind
  rw [e]
  exact ⟨le_of_mul h0, mul_le_left (Std.le_of_lt h0)⟩

/-- A factor comes out of a mean. -/
theorem Law.mean_mul (L : Law α) (c : α) (g : α → α) : (L.mean fun x => c * g x) = c * L.mean g := by
  unfold Law.mean
  rw [← sumOver_mul]
  exact sumOver_congr fun a _ => by grind

/-- Moments through divided moments. -/
theorem Law.moment_eq (L : Law α) (n : Nat) : (L.mean fun x => x ^ n) = fac n * L.mean (dpow n) := by
  rw [← Law.mean_mul]
  unfold Law.mean
  exact sumOver_congr fun a _ => by simp only [pow_eq_dpow]

/-- An even power is non-negative. -/
theorem even_pow_nn (x : α) : ∀ k : Nat, 0 ≤ x ^ (2 * k)
  | 0 => by have := one_pos (α := α); grind
  | k + 1 => by
    have h := mul_nn (even_pow_nn x k) (sq_nn x)
    rw [show 2 * (k + 1) = 2 * k + 1 + 1 by omega, Semiring.pow_succ, Semiring.pow_succ]
    grind

/-- The law of the empty sum. -/
theorem Law.subGaussian_zero : Law.SubGaussian [((1 : α), 0)] 0 where
  nonneg a ha := by
    have := one_pos (α := α)
    simp only [List.mem_singleton] at ha
    subst ha
    exact Std.le_of_lt this
  total := by simp only [Law.mean, sumOver]; grind
  odd k := by
    simp only [Law.mean, sumOver, Semiring.pow_succ]
    grind
  even k := by
    cases k with
    | zero => simp only [Law.mean, sumOver, oddFactorial, ofCount, Nat.mul_zero]; grind
    | succ k =>
      rw [show 2 * (k + 1) = 2 * k + 1 + 1 by omega]
      simp only [Law.mean, sumOver, Semiring.pow_succ]
      grind

/-- The law of a sum of two independent values of bounded even moments. -/
theorem Law.SubGaussian.add {L L' : Law α} {V V' : α} (h : L.SubGaussian V) (h' : L'.SubGaussian V') :
    (L.add L').SubGaussian (V + V') := by
  have odd0 : ∀ {L : Law α} {V : α}, L.SubGaussian V → ∀ k, L.mean (dpow (2 * k + 1)) = 0 := fun h k => by
    have h1 := h.odd k
    rw [Law.moment_eq] at h1
    have := fac_ps (α := α) (2 * k + 1)
    generalize (fac (2 * k + 1) : α) = m at *
    grind
  have even1 : ∀ {L : Law α} {V : α}, L.SubGaussian V → ∀ k, L.mean (dpow (2 * k)) ≤ dpow k (V / 2) := fun h k => by
    have h1 := h.even k
    rw [Law.moment_eq] at h1
    exact (even_moment_iff k).mp h1
  have even0 : ∀ {L : Law α} {V : α}, L.SubGaussian V → ∀ k, 0 ≤ L.mean (dpow (2 * k)) := fun h k => by
    refine sumOver_nn fun a ha => mul_nn (h.nonneg a ha) ?_
    have h1 := even_pow_nn a.2 k
    rw [pow_eq_dpow] at h1
    exact nn_of_mul (fac_ps _) h1
  constructor
  · intro a ha
    simp only [Law.add, List.mem_flatMap, List.mem_map] at ha
    obtain ⟨b, hb, c, hc, rfl⟩ := ha
    exact mul_nn (h.nonneg b hb) (h'.nonneg c hc)
  · have h1 := h.total
    rw [Law.mean_add]
    rw [h'.total]
    exact h1
  · intro k
    rw [Law.moment_eq, Law.mean_add_dpow, cauchy_odd (odd0 h') k (odd0 h)]
    grind
  · intro k
    rw [Law.moment_eq, even_moment_iff, Law.mean_add_dpow, cauchy_even _ k (odd0 h)]
    have e : (V + V') / 2 = V / 2 + V' / 2 := by have := one_pos (α := α); grind
    rw [e, dpow_add]
    exact cauchy_le (even0 h') (even1 h') k (even0 h) (even1 h)


/-- Powers of a positive value are positive. -/
theorem pow_ps {x : α} (hx : 0 < x) : ∀ n : Nat, 0 < x ^ n
  | 0 => by have := one_pos (α := α); grind
  | n + 1 => by rw [Semiring.pow_succ]; exact mul_ps (pow_ps hx n) hx

/-- Even powers grow with the absolute value. -/
theorem even_pow_le {u x : α} (hu : 0 ≤ u) (h : u ≤ absV x) : ∀ k : Nat, u ^ (2 * k) ≤ x ^ (2 * k)
  | 0 => by grind
  | k + 1 => by
    have h1 := even_pow_le hu h k
    have h2 := even_pow_nn u k
    have h3 : u * u ≤ x * x := by
      have h4 := mul_le_both hu (absV_nn x) h h
      rcases absV_cases x with ⟨_, e⟩ | ⟨_, e⟩ <;> rw [e] at h4 <;> grind
    have h5 := mul_le_both h2 (sq_nn x) h1 h3
    rw [show 2 * (k + 1) = 2 * k + 1 + 1 by omega]
    simp only [Semiring.pow_succ]
    grind

/-- Odd products are at least one. -/
theorem one_le_oddFactorial : ∀ k : Nat, 1 ≤ oddFactorial k
  | 0 => Nat.le_refl _
  | k + 1 => Nat.mul_pos (by omega) (one_le_oddFactorial k)

/-- Counts are monotone. -/
theorem ofCount_le {m n : Nat} (h : m ≤ n) : (ofCount m : α) ≤ ofCount n := by
  obtain ⟨d, rfl⟩ := Nat.le.dest h
  have h1 : (ofCount (m + d) : α) = ofCount m + ofCount d := ofCount_add m d
  have h2 : (0 : α) ≤ ofCount d := ofCount_nn d
  grind

/-- One to any power. -/
theorem one_pow' : ∀ n : Nat, (1 : α) ^ n = 1
  | 0 => by grind
  | n + 1 => by rw [Semiring.pow_succ, one_pow' n]; grind

/-- Powers of minus one. -/
theorem neg_one_pow : ∀ k : Nat, (-1 : α) ^ (2 * k) = 1
  | 0 => by grind
  | k + 1 => by
    rw [show 2 * (k + 1) = 2 * k + 1 + 1 by omega]
    simp only [Semiring.pow_succ, neg_one_pow k]
    grind

/-- A fair sign has Gaussian moments of variance one. -/
theorem sign_subGaussian : Law.SubGaussian [((1 / 2 : α), (1 : α)), (1 / 2, -1)] 1 where
  nonneg a ha := by
    have := div_ps (α := α) one_pos (b := 2) (by have := one_pos (α := α); grind)
    have e : a.1 = 1 / 2 := by
      simp only [List.mem_cons, List.not_mem_nil, or_false] at ha
      rcases ha with rfl | rfl <;> rfl
    rw [e]; grind
  total := by have := one_pos (α := α); simp only [Law.mean, sumOver]; grind
  odd k := by
    have := one_pos (α := α)
    simp only [Law.mean, sumOver, Semiring.pow_succ, one_pow', neg_one_pow]
    grind
  even k := by
    have h := one_pos (α := α)
    have h1 : (ofCount 1 : α) ≤ ofCount (oddFactorial k) := ofCount_le (one_le_oddFactorial k)
    have h2 : (ofCount 1 : α) = 1 := by simp only [ofCount]; grind
    simp only [Law.mean, sumOver, one_pow', neg_one_pow]
    grind

end ProofKV
end

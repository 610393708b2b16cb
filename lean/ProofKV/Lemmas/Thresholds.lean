module

public import ProofKV.Lemmas.TV
public import ProofKV.Spec.Thresholds

/-! Lemmas behind the enumeration of threshold sets: first and last tokens of an order, the token at which a running sum
reaches a target, and the exchange argument of the fractional knapsack. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A strict weak order: what is not before each other counts as equal. -/
structure WeakOrder (before : ι → ι → Prop) : Prop where
  /-- Of two tokens one is not before the other. -/
  asymm : ∀ i j, before i j → ¬ before j i
  /-- Not being before is transitive. -/
  trans : ∀ i j k, ¬ before i j → ¬ before j k → ¬ before i k

/-- Among the tokens of a list with a property there is one that none of them is before. -/
theorem exists_first {before : ι → ι → Prop} (hb : WeakOrder before) {P : ι → Prop} :
    ∀ {I : List ι}, (∃ i ∈ I, P i) → ∃ m ∈ I, P m ∧ ∀ k ∈ I, P k → ¬ before k m
  | [], h => by obtain ⟨i, hi, _⟩ := h; simp at hi
  | i :: I, h => by
    by_cases hI : ∃ j ∈ I, P j
    · obtain ⟨m, hm, hP, hmin⟩ := exists_first hb hI
      by_cases hi : P i ∧ before i m
      · refine ⟨i, by simp, hi.1, fun k hk hPk => ?_⟩
        rcases List.mem_cons.mp hk with rfl | hk
        · exact fun h => hb.asymm _ _ h h
        · exact fun h => hb.trans k m i (hmin k hk hPk) (hb.asymm _ _ hi.2) h
      · refine ⟨m, by simp [hm], hP, fun k hk hPk => ?_⟩
        rcases List.mem_cons.mp hk with rfl | hk
        · exact fun h => hi ⟨hPk, h⟩
        · exact hmin k hk hPk
    · obtain ⟨j, hj, hP⟩ := h
      rcases List.mem_cons.mp hj with rfl | hj
      · refine ⟨j, by simp, hP, fun k hk hPk => ?_⟩
        rcases List.mem_cons.mp hk with rfl | hk
        · exact fun h => hb.asymm _ _ h h
        · exact absurd ⟨k, hk, hPk⟩ hI
      · exact absurd ⟨j, hj, hP⟩ hI

/-- The reverse of a strict weak order is one. -/
theorem WeakOrder.reverse {before : ι → ι → Prop} (hb : WeakOrder before) : WeakOrder fun i j => before j i where
  asymm i j h := hb.asymm j i h
  trans i j k h1 h2 := hb.trans k j i h2 h1

/-- The order by a value. -/
theorem weakOrder_lt (o : ι → α) : WeakOrder fun i j => o i < o j where
  asymm i j h := by grind
  trans i j k h1 h2 := by grind

/-- Sums over a smaller set of non-negative values are smaller. -/
theorem sumIf_subset {I : List ι} {A B : ι → Prop} {f : ι → α} (hf : ∀ i ∈ I, 0 ≤ f i)
    (h : ∀ i ∈ I, A i → B i) : sumIf A I f ≤ sumIf B I f := by
  refine sumOver_le fun i hi => ?_
  have h1 := hf i hi
  by_cases hA : A i
  · simp only [hA, h i hi hA, if_true]; exact Std.le_refl _
  · by_cases hB : B i <;> simp only [hA, hB, if_true, if_false] <;> grind

/-- Sums over a set of non-negative values are non-negative. -/
theorem sumIf_part_nn {I : List ι} {A : ι → Prop} {f : ι → α} (hf : ∀ i ∈ I, 0 ≤ f i) : 0 ≤ sumIf A I f :=
  sumOver_nn fun i hi => by
    have := hf i hi
    by_cases h : A i <;> simp only [h, if_true, if_false] <;> grind

/-- Running sums: in every strict weak order there is a token before which the sum of non-negative values does not
exceed a target between zero and the whole sum, and up to which it reaches the target. -/
theorem exists_threshold {before : ι → ι → Prop} {I : List ι} {f : ι → α} {target : α} (hb : WeakOrder before)
    (hI : I ≠ []) (hf : ∀ i ∈ I, 0 ≤ f i) (h0 : 0 ≤ target) (h1 : target ≤ sumOver I f) :
    ∃ c ∈ I, sumIf (fun k => before k c) I f ≤ target ∧ target ≤ sumIf (fun k => ¬ before c k) I f := by
  have all : ∃ c ∈ I, target ≤ sumIf (fun k => ¬ before c k) I f := by
    obtain ⟨j, hj⟩ := List.exists_mem_of_ne_nil I hI
    obtain ⟨m, hm, -, hmax⟩ := exists_first hb.reverse (P := fun _ => True) ⟨j, hj, trivial⟩
    refine ⟨m, hm, Std.le_trans h1 (sumOver_le fun k hk => ?_)⟩
    have := hmax k hk trivial
    simp only [this, not_false_eq_true, if_true]
    exact Std.le_refl _
  obtain ⟨c, hc, hP, hmin⟩ := exists_first hb all
  refine ⟨c, hc, ?_, hP⟩
  by_cases h : ∃ k ∈ I, before k c
  · obtain ⟨b, hbI, hbc, hlast⟩ := exists_first hb.reverse h
    have hnot : ¬ target ≤ sumIf (fun k => ¬ before b k) I f := fun h => hmin b hbI h hbc
    have := sumIf_subset (A := fun k => before k c) (B := fun k => ¬ before b k) hf hlast
    grind
  · have : sumIf (fun k => before k c) I f ≤ sumOver I fun _ => 0 := sumOver_le fun k hk => by
      have : ¬ before k c := fun hk' => h ⟨k, hk, hk'⟩
      simp only [this, if_false]
      exact Std.le_refl _
    rw [sumOver_zero] at this
    grind

/-- Exchange argument: a share that takes the whole of the tokens whose price `g` is above `γ` and nothing of those below
has the smallest mass among the shares with the same total price. -/
theorem share_mass_le {I : List ι} {p g x y : ι → α} {γ : α} (hp : ∀ i ∈ I, 0 ≤ p i) (hγ : 0 < γ) (hx : IsShare I x)
    (hy : ∀ i ∈ I, g i = γ ∨ γ ≤ g i ∧ y i = 1 ∨ g i ≤ γ ∧ y i = 0)
    (hsum : (sumOver I fun i => y i * (p i * g i)) = sumOver I fun i => x i * (p i * g i)) :
    (sumOver I fun i => y i * p i) ≤ sumOver I fun i => x i * p i := by
  have h1 : 0 ≤ sumOver I fun i => (x i - y i) * (γ - g i) * p i := sumOver_nn fun i hi => by
    refine mul_nn ?_ (hp i hi)
    have hxi := hx i hi
    rcases hy i hi with h | ⟨h, e⟩ | ⟨h, e⟩
    · rw [h]; grind
    · have := mul_nn (a := y i - x i) (b := g i - γ) (by grind) (by grind); grind
    · have := mul_nn (a := x i - y i) (b := γ - g i) (by grind) (by grind); grind
  have h2 : (sumOver I fun i => (x i - y i) * (γ - g i) * p i) =
      γ * ((sumOver I fun i => x i * p i) - sumOver I fun i => y i * p i) -
        ((sumOver I fun i => x i * (p i * g i)) - sumOver I fun i => y i * (p i * g i)) := by
    rw [← sumOver_sub, ← sumOver_sub, ← sumOver_mul, ← sumOver_sub]
    exact sumOver_congr fun i _ => by grind
  rw [hsum] at h2
  have h3 := nn_of_mul (a := (sumOver I fun i => x i * p i) - sumOver I fun i => y i * p i) hγ (by grind)
  grind

/-- Tokens by decreasing price `g`; of equal prices the low side `L` first and by increasing place `o`, then the high side
by decreasing place: the tokens outside are before those inside. -/
@[expose] def outer (g o : ι → α) (L : ι → Prop) (i k : ι) : Prop :=
  g k < g i ∨ g i = g k ∧ (L i ∧ ¬ L k ∨ L i ∧ L k ∧ o i < o k ∨ ¬ L i ∧ ¬ L k ∧ o k < o i)

/-- A token before another has at least its price. -/
theorem outer_price {g o : ι → α} {L : ι → Prop} {i k : ι} (h : outer g o L i k) : g k ≤ g i := by
  unfold outer at h
  grind

/-- It is a strict weak order. -/
theorem weakOrder_outer (g o : ι → α) (L : ι → Prop) : WeakOrder (outer g o L) where
  asymm i j h := by unfold outer at *; grind
  trans i j k h1 h2 := by unfold outer at *; grind

/-- When the price falls on the low side and rises on the high side, the tokens before a token are those below one place
and above another, and the token itself is at one of the two places. -/
theorem outer_iff_two_sided {I : List ι} {g o : ι → α} {L : ι → Prop} {c : ι} (hc : c ∈ I)
    (hlow : ∀ a ∈ I, ∀ b ∈ I, o a ≤ o b → L b → L a ∧ g b ≤ g a)
    (hhigh : ∀ a ∈ I, ∀ b ∈ I, o a ≤ o b → ¬ L a → ¬ L b ∧ g a ≤ g b) :
    ∃ i ∈ I, ∃ j ∈ I, o i ≤ o j ∧ (c = i ∨ c = j) ∧ ∀ k ∈ I, outer g o L k c ↔ o k < o i ∨ o j < o k := by
  have self : ¬ outer g o L c c := fun h => (weakOrder_outer g o L).asymm _ _ h h
  by_cases hLc : L c
  · obtain ⟨j, hj, hjc, hlast⟩ := exists_first (weakOrder_lt o).reverse (P := fun k => ¬ outer g o L k c) ⟨c, hc, self⟩
    have hcj := hlast c hc self
    refine ⟨c, hc, j, hj, by grind, Or.inl rfl, fun k hk => ?_⟩
    have h1 := hlow c hc k hk
    have h2 := hhigh k hk j hj
    have h3 := hlow k hk c hc
    have h4 := hlast k hk
    unfold outer at *
    grind
  · obtain ⟨i, hi, hic, hfirst⟩ := exists_first (weakOrder_lt o) (P := fun k => ¬ outer g o L k c) ⟨c, hc, self⟩
    have hci := hfirst c hc self
    refine ⟨i, hi, c, hc, by grind, Or.inr rfl, fun k hk => ?_⟩
    have h1 := hlow i hi k hk
    have h2 := hhigh k hk c hc
    have h3 := hhigh c hc k hk
    have h4 := hfirst k hk
    unfold outer at *
    grind

/-- Tokens at the same place are on the same side and have the same price. -/
theorem outer_class {I : List ι} {g o : ι → α} {L : ι → Prop} {c k : ι} (hc : c ∈ I) (hk : k ∈ I)
    (hlow : ∀ a ∈ I, ∀ b ∈ I, o a ≤ o b → L b → L a ∧ g b ≤ g a)
    (hhigh : ∀ a ∈ I, ∀ b ∈ I, o a ≤ o b → ¬ L a → ¬ L b ∧ g a ≤ g b) (e : o k = o c) : (L k ↔ L c) ∧ g k = g c := by
  have h1 := hlow k hk c hc (by grind)
  have h2 := hlow c hc k hk (by grind)
  have h3 := hhigh k hk c hc (by grind)
  have h4 := hhigh c hc k hk (by grind)
  clear hlow hhigh
  by_cases hL : L c
  · have h5 := h1 hL
    have h6 := h2 h5.1
    exact ⟨⟨fun _ => hL, fun _ => h5.1⟩, by grind⟩
  · have h5 := h4 hL
    have h6 := h3 h5.1
    exact ⟨⟨fun h => absurd h h5.1, fun h => absurd h hL⟩, by grind⟩

/-- A token at the place of `c` is not before it. -/
theorem not_outer_class {g o : ι → α} {L : ι → Prop} {c k : ι} (h : (L k ↔ L c) ∧ g k = g c) (e : o k = o c) :
    ¬ outer g o L k c := by
  unfold outer
  grind

/-- A token that is not after `c` is before it or at its place. -/
theorem not_after_iff {g o : ι → α} {L : ι → Prop} {c k : ι} (h : o k = o c → (L k ↔ L c) ∧ g k = g c) :
    ¬ outer g o L c k ↔ outer g o L k c ∨ o k = o c := by
  unfold outer
  grind

/-- The price `(1 - s) r + s / r` falls in `r` as long as `(1 - s) r² < s`. -/
theorem price_falls {q s a b : α} (ha : 0 < a) (hab : a ≤ b) (hq : 0 ≤ q) (h : q * b * b < s) :
    q * a * a < s ∧ q * b + s * b⁻¹ ≤ q * a + s * a⁻¹ := by
  have hb : 0 < b := by grind
  have h1 := mul_le_left (mul_nn hq (Std.le_of_lt hb)) hab
  have h2 := mul_le_left (mul_nn hq (Std.le_of_lt ha)) hab
  refine ⟨by grind, le_of_mul (mul_ps ha hb) ?_⟩
  have e1 : a * b * (q * b + s * b⁻¹) = a * b * (q * b) + s * a := by grind
  have e2 : a * b * (q * a + s * a⁻¹) = a * b * (q * a) + s * b := by grind
  have h3 := mul_nn (a := b - a) (b := s - q * a * b) (by grind) (by grind)
  rw [e1, e2]
  grind

/-- The price `(1 - s) r + s / r` rises in `r` from where `s ≤ (1 - s) r²`. -/
theorem price_rises {q s a b : α} (ha : 0 < a) (hab : a ≤ b) (hq : 0 ≤ q) (h : ¬ q * a * a < s) :
    ¬ q * b * b < s ∧ q * a + s * a⁻¹ ≤ q * b + s * b⁻¹ := by
  have hb : 0 < b := by grind
  have h1 := mul_le_left (mul_nn hq (Std.le_of_lt hb)) hab
  have h2 := mul_le_left (mul_nn hq (Std.le_of_lt ha)) hab
  refine ⟨by grind, le_of_mul (mul_ps ha hb) ?_⟩
  have e1 : a * b * (q * b + s * b⁻¹) = a * b * (q * b) + s * a := by grind
  have e2 : a * b * (q * a + s * a⁻¹) = a * b * (q * a) + s * b := by grind
  have h3 := mul_nn (a := b - a) (b := q * a * b - s) (by grind) (by grind)
  rw [e1, e2]
  grind

/-- The exchange argument for prices `g` that fall on the low side and rise on the high side of an order `o`: there is a
threshold set with two sides that reaches a given total price and has the smallest mass among the shares that do. -/
theorem exists_two_sided {I : List ι} {p g o x : ι → α} {L : ι → Prop} {target : α} (hp : ∀ i ∈ I, 0 ≤ p i)
    (hg : ∀ i ∈ I, 0 < g i) (hI : I ≠ [])
    (hlow : ∀ a ∈ I, ∀ b ∈ I, o a ≤ o b → L b → L a ∧ g b ≤ g a)
    (hhigh : ∀ a ∈ I, ∀ b ∈ I, o a ≤ o b → ¬ L a → ¬ L b ∧ g a ≤ g b) (h0 : 0 ≤ target)
    (h1 : target ≤ sumOver I fun k => p k * g k) (hx : IsShare I x)
    (hsum : (sumOver I fun k => x k * (p k * g k)) = target) :
    ∃ i ∈ I, ∃ j ∈ I, o i ≤ o j ∧ ∃ c, (c = i ∨ c = j) ∧ ∃ t, 0 ≤ t ∧ t ≤ 1 ∧
      (sumOver I fun k => twoSided o i j c t k * (p k * g k)) = target ∧
      (sumOver I fun k => twoSided o i j c t k * p k) ≤ sumOver I fun k => x k * p k := by
  have hf : ∀ k ∈ I, 0 ≤ p k * g k := fun k hk => mul_nn (hp k hk) (Std.le_of_lt (hg k hk))
  obtain ⟨c, hc, hS0, hS1⟩ := exists_threshold (weakOrder_outer g o L) hI hf h0 h1
  obtain ⟨i, hi, j, hj, hij, hcij, hout⟩ := outer_iff_two_sided hc hlow hhigh
  -- Tokens that are neither before nor after `c` are those at its place.
  have hclass : ∀ k ∈ I, o k = o c → (L k ↔ L c) ∧ g k = g c := fun k hk e => outer_class hc hk hlow hhigh e
  have hafter : ∀ k ∈ I, (¬ outer g o L c k) ↔ (outer g o L k c ∨ o k = o c) := fun k hk => not_after_iff (hclass k hk)
  have hdisj : ∀ k ∈ I, o k = o c → ¬ outer g o L k c := fun k hk e => not_outer_class (hclass k hk e) e
  have hsplit : sumIf (fun k => ¬ outer g o L c k) I (fun k => p k * g k) =
      sumIf (fun k => outer g o L k c) I (fun k => p k * g k) + sumIf (fun k => o k = o c) I fun k => p k * g k := by
    unfold sumIf
    rw [← sumOver_add]
    refine sumOver_congr fun k hk => ?_
    have h2 := hdisj k hk
    simp only [hafter k hk]
    generalize p k * g k = a
    clear hafter hdisj hclass hout hlow hhigh
    by_cases h : o k = o c
    · simp only [h, h2 h, or_true, if_true, if_false]; grind
    · by_cases h' : outer g o L k c <;> simp only [h, h', or_false, if_true, if_false] <;> grind
  have hC : 0 ≤ sumIf (fun k => o k = o c) I fun k => p k * g k := sumIf_part_nn hf
  rw [hsplit] at hS1
  have ht : ∃ t, 0 ≤ t ∧ t ≤ 1 ∧ sumIf (fun k => outer g o L k c) I (fun k => p k * g k) +
      t * (sumIf (fun k => o k = o c) I fun k => p k * g k) = target := by
    clear hout hclass hafter hdisj hsplit hlow hhigh
    generalize sumIf (fun k => outer g o L k c) I (fun k => p k * g k) = S at *
    generalize (sumIf (fun k => o k = o c) I fun k => p k * g k) = C at *
    have := one_pos (α := α)
    by_cases e : C = 0
    · exact ⟨0, by grind, by grind, by grind⟩
    · have : 0 < C := by grind
      exact ⟨(target - S) / C, div_nn (by grind) this, div_le this (by grind), by grind⟩
  obtain ⟨t, ht0, ht1, htC⟩ := ht
  have hy : ∀ k ∈ I, twoSided o i j c t k = if outer g o L k c then 1 else if o k = o c then t else 0 := fun k hk => by
    unfold twoSided
    simp only [hout k hk]
  have hysum : (sumOver I fun k => twoSided o i j c t k * (p k * g k)) = target := by
    rw [← htC]
    unfold sumIf
    rw [← sumOver_mul, ← sumOver_add]
    refine sumOver_congr fun k hk => ?_
    have h2 := hdisj k hk
    rw [hy k hk]
    dsimp only
    generalize p k * g k = a
    clear hafter hdisj hclass hout hlow hhigh hy hsplit htC hcij hS0 hS1 hsum
    by_cases h : o k = o c
    · simp only [if_neg (h2 h), if_pos h]; grind
    · by_cases h' : outer g o L k c
      · simp only [if_pos h', if_neg h]; grind
      · simp only [if_neg h', if_neg h]; grind
  refine ⟨i, hi, j, hj, hij, c, hcij, t, ht0, ht1, hysum,
    share_mass_le (g := g) (γ := g c) hp (hg c hc) hx (fun k hk => ?_) (hysum.trans hsum.symm)⟩
  rw [hy k hk]
  by_cases h : outer g o L k c
  · exact Or.inr (Or.inl ⟨outer_price h, by simp only [h, if_true]⟩)
  · by_cases h' : o k = o c
    · exact Or.inl (hclass k hk h').2
    · have h3 : outer g o L c k := Classical.not_not.mp fun h3 => ((hafter k hk).mp h3).elim h h'
      exact Or.inr (Or.inr ⟨outer_price h3, by simp only [h, h', if_false]⟩)

/-- The price `(1 - s) r + s / r` is positive. -/
theorem price_pos {s r : α} (h0 : 0 ≤ s) (h1 : s ≤ 1) (hr : 0 < r) : 0 < (1 - s) * r + s * r⁻¹ := by
  have i := inv_ps hr
  by_cases e : s = 0
  · subst e; grind
  · have g1 := mul_nn (a := 1 - s) (b := r) (by grind) (Std.le_of_lt hr)
    have g2 := mul_ps (a := s) (b := r⁻¹) (by grind) i
    generalize r⁻¹ = q at *
    grind

/-- A share whose total price at `s` is that of the lower ends has the output mass `s`. -/
theorem gain_eq_of_price {I : List ι} {p l u x : ι → α} {s : α} (hp : IsDist I p) (hl : ∀ i ∈ I, 0 < l i)
    (hlu : ∀ i ∈ I, l i ≤ u i) (hx : IsShare I x)
    (h : (sumOver I fun i => x i * (p i * ((1 - s) * u i + s * l i))) = s * sumOver I fun i => p i * l i) :
    gain I p l u x = s - sumOver I fun i => x i * p i := by
  have hd := gain_den_pos hp hl hlu hx
  have hB := share_add (I := I) (fun i => p i * l i) x
  have e : (sumOver I fun i => x i * (p i * ((1 - s) * u i + s * l i))) =
      (1 - s) * (sumOver I fun i => x i * (p i * u i)) + s * sumOver I fun i => x i * (p i * l i) := by
    rw [← sumOver_mul, ← sumOver_mul, ← sumOver_add]
    exact sumOver_congr fun i _ => by grind
  rw [e, ← hB] at h
  unfold gain
  generalize (sumOver I fun i => x i * (p i * u i)) = a at *
  generalize (sumOver I fun i => (1 - x i) * (p i * l i)) = b at *
  have : a = s * (a + b) := by grind
  have : a / (a + b) = s := by grind
  grind

/-- Every share has an output mass between zero and one, at which its total price is that of the lower ends. -/
theorem exists_price_eq {I : List ι} {p l u x : ι → α} (hp : IsDist I p) (hl : ∀ i ∈ I, 0 < l i)
    (hlu : ∀ i ∈ I, l i ≤ u i) (hx : IsShare I x) :
    ∃ s, 0 ≤ s ∧ s ≤ 1 ∧
      (sumOver I fun i => x i * (p i * ((1 - s) * u i + s * l i))) = s * sumOver I fun i => p i * l i := by
  have hu : ∀ i ∈ I, 0 ≤ p i * u i := fun i hi => mul_nn (hp.nonneg i hi) (by
    have := hl i hi; have := hlu i hi; grind)
  have hll : ∀ i ∈ I, 0 ≤ p i * l i := fun i hi => mul_nn (hp.nonneg i hi) (Std.le_of_lt (hl i hi))
  have ha := share_nn hx hu
  have hb := rest_nn hx hll
  have hd := gain_den_pos hp hl hlu hx
  have hB := share_add (I := I) (fun i => p i * l i) x
  refine ⟨_, div_nn ha hd, div_le hd (by grind), ?_⟩
  generalize hs : (sumOver I fun i => x i * (p i * u i)) /
    ((sumOver I fun i => x i * (p i * u i)) + sumOver I fun i => (1 - x i) * (p i * l i)) = s
  have e : (sumOver I fun i => x i * (p i * ((1 - s) * u i + s * l i))) =
      (1 - s) * (sumOver I fun i => x i * (p i * u i)) + s * sumOver I fun i => x i * (p i * l i) := by
    rw [← sumOver_mul, ← sumOver_mul, ← sumOver_add]
    exact sumOver_congr fun i _ => by grind
  rw [e, ← hB]
  generalize (sumOver I fun i => x i * (p i * u i)) = a at *
  generalize (sumOver I fun i => (1 - x i) * (p i * l i)) = b at *
  have : (a + b) * s = a := by rw [← hs]; exact mul_div_self hd
  grind

/-- A threshold set is a share. -/
theorem isShare_twoSided {I : List ι} {o : ι → α} {i j c : ι} {t : α} (h0 : 0 ≤ t) (h1 : t ≤ 1) :
    IsShare I (twoSided o i j c t) := fun k _ => by
  have := one_pos (α := α)
  unfold twoSided
  by_cases h : o k < o i ∨ o j < o k <;> by_cases h' : o k = o c <;> simp only [h, h', if_true, if_false] <;> grind

/-- A gain is at most one. -/
theorem gain_le_one {I : List ι} {p l u x : ι → α} (hp : IsDist I p) (hl : ∀ i ∈ I, 0 < l i)
    (hlu : ∀ i ∈ I, l i ≤ u i) (hx : IsShare I x) : gain I p l u x ≤ 1 := by
  have h1 := gain_den_pos hp hl hlu hx
  have h2 := rest_nn (f := fun i => p i * l i) hx fun i hi => mul_nn (hp.nonneg i hi) (Std.le_of_lt (hl i hi))
  have h3 := share_nn hx hp.nonneg
  have h4 := div_le (a := sumOver I fun i => x i * (p i * u i)) (c := 1) h1 (by grind)
  unfold gain
  grind

/-- The inverse of a ratio bound is at most the bound. -/
theorem inv_le_self {r : α} (h : 1 ≤ r) : 0 < r⁻¹ ∧ r⁻¹ ≤ r := by
  have one := one_pos (α := α)
  have h0 : 0 < r := by grind
  have h2 := mul_le_both (a := 1) (b := r) (c := 1) (d := r) (by grind) (by grind) h h
  exact ⟨inv_ps h0, le_of_mul h0 (by rw [Field.mul_inv_cancel (by grind)]; grind)⟩

end ProofKV
end

module

public import ProofKV.Thm.LinfOutputLePrefix
public import ProofKV.Lemmas.NormSplit
import ProofKV.Lemmas.Witness

/-! The largest output over a box of ratios is attained by a threshold set. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- A list that is not empty has an entry of largest value. -/
theorem exists_max (f : ι → α) : ∀ {I : List ι}, I ≠ [] → ∃ j ∈ I, ∀ i ∈ I, f i ≤ f j
  | [], h => absurd rfl h
  | [j], _ => ⟨j, by simp, fun i hi => by
    have e : i = j := by simpa using hi
    rw [e]; exact Std.le_refl _⟩
  | j :: k :: I, _ => by
    obtain ⟨m, hm, h⟩ := exists_max f (I := k :: I) (by simp)
    rcases Std.le_total (a := f j) (b := f m) with hle | hle
    · refine ⟨m, List.mem_cons_of_mem _ hm, fun i hi => ?_⟩
      rcases List.mem_cons.mp hi with rfl | hi
      · exact hle
      · exact h i hi
    · refine ⟨j, by simp, fun i hi => ?_⟩
      rcases List.mem_cons.mp hi with rfl | hi
      · exact Std.le_refl _
      · exact Std.le_trans (h i hi) hle

/-- The sum of centred values is the mean less the centre times the mass. -/
theorem sumOver_centred {I : List ι} (q t : ι → α) (M : α) :
    (sumOver I fun i => q i * (t i - M)) = mean I q t - M * sumOver I q := by
  unfold mean
  rw [← sumOver_mul, ← sumOver_sub]
  exact sumOver_congr fun i _ => by grind

/-- A mean under a tilt depends only on the ratios on the list. -/
theorem mean_tilt_congr {I : List ι} {p w w' t : ι → α} (h : ∀ i ∈ I, w i = w' i) :
    mean I (tilt I p w) t = mean I (tilt I p w') t := by
  have e : (sumOver I fun j => p j * w j) = sumOver I fun j => p j * w' j :=
    sumOver_congr fun i hi => by simp only [h i hi]
  unfold mean tilt
  rw [e]
  exact sumOver_congr fun i hi => by simp only [h i hi]

/-- **Vertex rule, attained**: among the tilts that give the upper ratio to the tokens whose value is above that of a
token `c` and the lower ratio to the others, one has the largest output of all tilts in the box. So the exact maximum
is found by trying one threshold set for every token. -/
theorem exists_threshold_attains {I : List ι} {p l u t : ι → α}
    (hp : IsDist I p)
    (hl : ∀ i ∈ I, 0 < l i)
    (hlu : ∀ i ∈ I, l i ≤ u i) :
    ∃ c ∈ I, InBox I l u (fun i => if t c < t i then u i else l i) ∧
      ∀ w, InBox I l u w → mean I (tilt I p w) t ≤ mean I (tilt I p fun i => if t c < t i then u i else l i) t := by
  have hne : I ≠ [] := ne_nil_of_sumOver_ps (f := p) (by rw [hp.total]; exact one_pos)
  have hbox : ∀ A : ι → Prop, InBox I l u fun i => if A i then u i else l i := fun A =>
    ⟨hl, fun i hi => by by_cases h : A i <;> simp only [h, if_true, if_false]
                        · exact hlu i hi
                        · exact Std.le_refl _,
      fun i hi => by by_cases h : A i <;> simp only [h, if_true, if_false]
                     · exact Std.le_refl _
                     · exact hlu i hi⟩
  obtain ⟨c, hc, hmax⟩ := exists_max (fun c => mean I (tilt I p fun i => if t c < t i then u i else l i) t) hne
  refine ⟨c, hc, hbox _, fun w hw => ?_⟩
  have hM : ∃ M, M = mean I (tilt I p fun i => if t c < t i then u i else l i) t := ⟨_, rfl⟩
  obtain ⟨M, hM⟩ := hM
  rw [← hM] at hmax ⊢
  refine linf_output_le_prefix hp hw ?_
  have hne2 : (I.filter fun i => decide (t i ≤ M)) ≠ [] := fun h => by
    have hall : ∀ i ∈ I, 0 < t i - M := fun i hi => by
      have h1 := List.filter_eq_nil_iff.mp h i hi
      simp only [decide_eq_true_eq] at h1
      grind
    have hq := tilt_isDist_of_pos hp (w := fun i => if t c < t i then u i else l i) fun i hi => by
      have := (hbox fun i => t c < t i).lower i hi
      have := hl i hi
      grind
    have h2 := tilt_total_pos hq hall
    rw [sumOver_centred, hq.total, ← hM] at h2
    grind
  obtain ⟨d, hd, hdmax⟩ := exists_max t hne2
  simp only [List.mem_filter, decide_eq_true_eq] at hd hdmax
  have e : ∀ i ∈ I, (M < t i) = (t d < t i) := fun i hi => propext ⟨fun h => by grind, fun h =>
    Classical.byContradiction fun hn => by
      have := hdmax i ⟨hi, by grind⟩
      grind⟩
  have e2 : mean I (tilt I p fun i => if M < t i then u i else l i) t =
      mean I (tilt I p fun i => if t d < t i then u i else l i) t := by
    have e4 : ∀ i ∈ I, (if M < t i then u i else l i) = if t d < t i then u i else l i := fun i hi => by
      by_cases h : t d < t i
      · have h' : M < t i := (e i hi).symm ▸ h
        simp only [h, h', if_true]
      · have h' : ¬ M < t i := (e i hi).symm ▸ h
        simp only [h, h', if_false]
    exact mean_tilt_congr e4
  rw [e2]
  exact hmax d hd.1

example : ∃ w₀, InBox tok (fun _ => (1 : Rat)) (fun _ => 2) w₀ ∧ ∀ w, InBox tok (fun _ => 1) (fun _ => 2) w →
    mean tok (tilt tok half w) half ≤ mean tok (tilt tok half w₀) half := by
  obtain ⟨_, _, h⟩ := exists_threshold_attains (l := fun _ => 1) (u := fun _ => 2) (t := half) half_isDist
    (fun _ _ => by grind) fun _ _ => by grind
  exact ⟨_, h⟩

end ProofKV
end

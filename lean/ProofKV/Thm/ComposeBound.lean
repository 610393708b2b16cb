module

public import ProofKV.Lemmas.Compose

/-! The error of a chain of layers. -/

public section

set_option linter.unusedSectionVars false

namespace ProofKV
open Lean.Grind
open scoped Classical

universe u v w x
variable {α : Type u} [Field α] [LE α] [LT α] [Std.IsLinearOrder α] [Std.LawfulOrderLT α] [OrderedRing α] {ι : Type v}

/-- **Lipschitz chain**: the error after all layers is at most the product of the Lipschitz constants times the input error plus the fresh
errors, each amplified by the layers after it. -/
theorem compose_error_le {X : Type w} {d : X → X → α}
    (htri : ∀ x y z, d x z ≤ d x y + d y z) :
    ∀ (ls : List (Layer X α)) (x y : X) (_ : ∀ a ∈ ls, LayerOk d a),
      d (runExact ls x) (runApprox ls y) ≤ lipProd ls * d x y + errSum ls
  | [], x, y, _ => by simp only [runExact, runApprox, lipProd, errSum]; grind
  | a :: ls, x, y, h => by
    have ha := h a (by simp)
    have hls : ∀ b ∈ ls, LayerOk d b := fun b hb => h b (by simp [hb])
    have h1 := compose_error_le htri ls (a.exact x) (a.approx y) hls
    have h2 := htri (a.exact x) (a.exact y) (a.approx y)
    have h3 := ha.lipschitz x y
    have h4 := ha.close y
    have h5 := mul_le_left (lipProd_nn hls) (a := d (a.exact x) (a.approx y)) (b := a.lip * d x y + a.err) (by grind)
    simp only [runExact, runApprox, lipProd, errSum]
    grind

example (x : Rat) : absV (runExact [(⟨id, fun x => x + 1, 1, 1⟩ : Layer Rat Rat)] x -
      runApprox [(⟨id, fun x => x + 1, 1, 1⟩ : Layer Rat Rat)] x) ≤
    lipProd [(⟨id, fun x => x + 1, 1, 1⟩ : Layer Rat Rat)] * absV (x - x) + errSum [(⟨id, fun x => x + 1, 1, 1⟩ : Layer Rat Rat)] := by
  have h : LayerOk (fun x y : Rat => absV (x - y)) (⟨id, fun x => x + 1, 1, 1⟩ : Layer Rat Rat) :=
    ⟨by grind, fun x y => by simp only [id]; grind, fun y => absV_le.mpr (by simp only [id]; grind)⟩
  have htri : ∀ x y z : Rat, absV (x - z) ≤ absV (x - y) + absV (y - z) := fun x y z => by
    have := absV_add_le (x - y) (y - z); grind
  exact compose_error_le (d := fun x y : Rat => absV (x - y)) htri [⟨id, fun x => x + 1, 1, 1⟩] x x fun a ha => by
    rw [List.mem_singleton.mp ha]; exact h

end ProofKV
end

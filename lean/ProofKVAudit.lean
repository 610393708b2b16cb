module

public meta import Lean.Elab.Command
public meta import Lean.Util.CollectAxioms
public meta import Lean.PrettyPrinter
import all ProofKV.Base
import all ProofKV.Lemmas.Argmax
import all ProofKV.Lemmas.Check
import all ProofKV.Lemmas.Compose
import all ProofKV.Lemmas.Dither
import all ProofKV.Lemmas.Eviction
import all ProofKV.Lemmas.Logits
import all ProofKV.Lemmas.Moments
import all ProofKV.Lemmas.NormSplit
import all ProofKV.Lemmas.Output
import all ProofKV.Lemmas.PageOutput
import all ProofKV.Lemmas.Probability
import all ProofKV.Lemmas.Quant
import all ProofKV.Lemmas.Refine
import all ProofKV.Lemmas.Rope
import all ProofKV.Lemmas.Sampling
import all ProofKV.Lemmas.TV
import all ProofKV.Lemmas.TVBounds
import all ProofKV.Lemmas.TVCells
import all ProofKV.Lemmas.TVHinge
import all ProofKV.Lemmas.TVMean
import all ProofKV.Lemmas.Thresholds
import all ProofKV.Lemmas.Witness
import all ProofKV.Spec.Argmax
import all ProofKV.Spec.Check
import all ProofKV.Spec.Compose
import all ProofKV.Spec.Dither
import all ProofKV.Spec.Eviction
import all ProofKV.Spec.Logits
import all ProofKV.Spec.Margin
import all ProofKV.Spec.Moments
import all ProofKV.Spec.Order
import all ProofKV.Spec.PageOutput
import all ProofKV.Spec.Probability
import all ProofKV.Spec.Quant
import all ProofKV.Spec.Refine
import all ProofKV.Spec.RefinedCell
import all ProofKV.Spec.Restore
import all ProofKV.Spec.Rope
import all ProofKV.Spec.Sampling
import all ProofKV.Spec.Seminorm
import all ProofKV.Spec.Softmax
import all ProofKV.Spec.Thresholds
import all ProofKV.Thm.AbstractSound
import all ProofKV.Thm.AggregatedFormFalse
import all ProofKV.Thm.ArgmaxComplete
import all ProofKV.Thm.ArgmaxOfPairwise
import all ProofKV.Thm.ArgmaxOfPointwise
import all ProofKV.Thm.ArgmaxUnique
import all ProofKV.Thm.AttentionCoordinateLeThresholds
import all ProofKV.Thm.AttentionNormLe
import all ProofKV.Thm.AttentionNormSplitBox
import all ProofKV.Thm.AttentionNormSplitTrue
import all ProofKV.Thm.AttentionPageBound
import all ProofKV.Thm.Betting
import all ProofKV.Thm.BlockAccumulator
import all ProofKV.Thm.BlockMax
import all ProofKV.Thm.BlockMerge
import all ProofKV.Thm.BudgetTelescoping
import all ProofKV.Thm.BudgetUniform
import all ProofKV.Thm.CertifiedMono
import all ProofKV.Thm.CheckLedger
import all ProofKV.Thm.CheckMargin
import all ProofKV.Thm.CheckTrace
import all ProofKV.Thm.CheckTvHinge
import all ProofKV.Thm.CheckTvMean
import all ProofKV.Thm.CheckTvOdds
import all ProofKV.Thm.ChiBound
import all ProofKV.Thm.ClassGainLe
import all ProofKV.Thm.ComposeBound
import all ProofKV.Thm.DecodeContaminated
import all ProofKV.Thm.DecodeDiffers
import all ProofKV.Thm.DecodeExact
import all ProofKV.Thm.DispersionFormFalse
import all ProofKV.Thm.DitherBias
import all ProofKV.Thm.DitherHermite
import all ProofKV.Thm.DitherLaw
import all ProofKV.Thm.DitherRange
import all ProofKV.Thm.DitherResidues
import all ProofKV.Thm.DitherTail
import all ProofKV.Thm.EvenMomentSum
import all ProofKV.Thm.EvenMomentTail
import all ProofKV.Thm.EvictedMassLe
import all ProofKV.Thm.EvictionErrorLe
import all ProofKV.Thm.EvictionErrorSharp
import all ProofKV.Thm.EvictionImpossible
import all ProofKV.Thm.EvictionTvEq
import all ProofKV.Thm.FinalNormSign
import all ProofKV.Thm.FirstMaxOfCertified
import all ProofKV.Thm.FirstMaxOfPairwise
import all ProofKV.Thm.FirstMaxTieAware
import all ProofKV.Thm.GainLeThresholds
import all ProofKV.Thm.GainMono
import all ProofKV.Thm.HajekOffset
import all ProofKV.Thm.HtUnbiased
import all ProofKV.Thm.HtVariance
import all ProofKV.Thm.HtVarianceUnbiased
import all ProofKV.Thm.IntersectEnclosures
import all ProofKV.Thm.LinfOutputLePrefix
import all ProofKV.Thm.LogitAbsLeBands
import all ProofKV.Thm.LogitAbsLeBox
import all ProofKV.Thm.LogitAbsLeNorms
import all ProofKV.Thm.LogitAbsLePerturbed
import all ProofKV.Thm.LogitAbsLeSplit
import all ProofKV.Thm.LogitGqa
import all ProofKV.Thm.LogitRopeBands
import all ProofKV.Thm.LogitRopeBox
import all ProofKV.Thm.LogitRopeNorm
import all ProofKV.Thm.Markov
import all ProofKV.Thm.MeanLeDirection
import all ProofKV.Thm.OutputCoordinateLeSplitBox
import all ProofKV.Thm.OutputCoordinateLeSplitTrue
import all ProofKV.Thm.OutputDecomposition
import all ProofKV.Thm.OutputMixedSplitFalse
import all ProofKV.Thm.PageBound
import all ProofKV.Thm.PagesLoop
import all ProofKV.Thm.QuantizerClip
import all ProofKV.Thm.QuantizerRestored
import all ProofKV.Thm.QuantizerStepLe
import all ProofKV.Thm.QuantizerStoredScale
import all ProofKV.Thm.QuantizerZeroPoint
import all ProofKV.Thm.RefinementLoop
import all ProofKV.Thm.RmsNorm
import all ProofKV.Thm.RmsNormCertified
import all ProofKV.Thm.RopeBands
import all ProofKV.Thm.RopeDot
import all ProofKV.Thm.RopeNorm
import all ProofKV.Thm.StochasticRounding
import all ProofKV.Thm.TiltNrm
import all ProofKV.Thm.TvBoxEqGain
import all ProofKV.Thm.TvEqMaxSubset
import all ProofKV.Thm.TvFailureProb
import all ProofKV.Thm.TvLeCells
import all ProofKV.Thm.TvLeEform
import all ProofKV.Thm.TvLeHinge
import all ProofKV.Thm.TvLeHistogram
import all ProofKV.Thm.TvLeHistogramValues
import all ProofKV.Thm.TvLeMean
import all ProofKV.Thm.TvLeMeanSq
import all ProofKV.Thm.TvLeMomentCells
import all ProofKV.Thm.TvLeOdds
import all ProofKV.Thm.TvLeOsc
import all ProofKV.Thm.TvLeOverlap
import all ProofKV.Thm.TvLeRefinedCells
import all ProofKV.Thm.TvLeThresholdValues
import all ProofKV.Thm.TvOddsAttained
import all ProofKV.Thm.TvRounding
import all ProofKV.Thm.TwoWorlds
import all ProofKV.Thm.UnionBound
import all ProofKV.Thm.VertexRule
import all ProofKV.Thm.Ville

/-! The audit of the development: it fails to build when one of our modules declares an axiom, uses `sorry`, or depends on
an axiom other than `propext`, `Classical.choice` and `Quot.sound`. It also writes the table of theorems to the file named
by the environment variable `PROOFKV_THEOREMS`.

Private parts of our own modules are read through `import all`. Theorems of Lean's core are trusted leaves: the
WebAssembly build carries no proofs of them, so their axioms are not visible here. -/

open Lean Elab Command

public meta section

/-- The axioms that the development may use. -/
def allowedAxioms : List Name := [``propext, ``Classical.choice, ``Quot.sound]

/-- The axioms that are not allowed. -/
def notAllowed : List Name → List Name
  | [] => []
  | a :: as => if allowedAxioms.contains a then notAllowed as else a :: notAllowed as

/-- A list of strings as one line. -/
def joinNames : List Name → String
  | [] => ""
  | [n] => n.toString
  | n :: ns => n.toString ++ ", " ++ joinNames ns

/-- Whether a module belongs to the development. -/
def isOwn (m : Name) : Bool := m.getRoot == `ProofKV || m.getRoot == `ProofKVTest

/-- Whether a constant is an axiom; a constant of unknown kind counts as one. -/
def isAxiomConst (env : Environment) (c : Name) : Bool :=
  match getOriginalConstKind? env c with
  | some .axiom => true
  | some _ => false
  | none => !(env.find? c).isSome

/-- Whether a constant of ours has no body here. With the private parts of our modules loaded only axioms have none, so a
theorem without one was imported without its proof. -/
def isBodyless (env : Environment) (c : Name) : Bool :=
  match env.find? c with
  | some (.axiomInfo _) => true
  | some _ => false
  | none => true

/-- The entries of an array from an index on, before the entries of a list. -/
def prepend (names : Array Name) (i : Nat) (acc : List Name) : List Name :=
  if h : i < names.size then prepend names (i + 1) (names[i] :: acc) else acc
termination_by names.size - i

/-- The constants that a declaration uses in its type and its body, before the entries of a list. -/
def usedBy (ci : ConstantInfo) (acc : List Name) : List Name :=
  let acc := prepend ci.type.getUsedConstants 0 acc
  match ci.value? (allowOpaque := true) with
  | some v => prepend v.getUsedConstants 0 acc
  | none => acc

/-- Appends a name that is not yet there. -/
def insertName (n : Name) (ns : List Name) : List Name := if ns.contains n then ns else n :: ns

/-- Walks all constants reachable from a work list through own declarations; the axioms met, and own declarations without
a body. -/
partial def reach (env : Environment) (own : NameSet) : List Name → NameSet → List Name → List Name
  | [], _, ax => ax
  | n :: rest, seen, ax =>
    if seen.contains n then reach env own rest seen ax
    else
      let seen := seen.insert n
      let ax := if isAxiomConst env n || (own.contains n && isBodyless env n) then insertName n ax else ax
      if own.contains n then
        match env.find? n with
        | some ci => reach env own (usedBy ci rest) seen ax
        | none => reach env own rest seen (insertName n ax)
      else reach env own rest seen ax

/-- The axioms of one declaration: what Lean's own collector reports, without constants that are no axioms. -/
def axiomsOf (env : Environment) (n : Name) : List Name :=
  let (_, s) := ((CollectAxioms.collect n).run env).run {}
  onlyAxioms (prepend s.axioms 0 [])
where
  /-- The axioms among some constants. -/
  onlyAxioms : List Name → List Name
    | [] => []
    | a :: as => if isAxiomConst env a then a :: onlyAxioms as else onlyAxioms as

/-- The own constants of one module that are theorems or axioms, by index. -/
def namesFrom (names : Array Name) (i : Nat) (acc : NameSet) : NameSet :=
  if h : i < names.size then namesFrom names (i + 1) (acc.insert names[i]) else acc
termination_by names.size - i

/-- All constants of own modules. -/
def ownNames (mods : Array Name) (datas : Array ModuleData) (i : Nat) (acc : NameSet) : NameSet :=
  if h : i < mods.size ∧ i < datas.size then
    ownNames mods datas (i + 1) (if isOwn mods[i] then namesFrom datas[i].constNames 0 acc else acc)
  else acc
termination_by mods.size - i

/-- A string as a JSON string. -/
def quoteJson (s : String) : String := (Json.str s).compress

/-- Quoted names, separated by commas. -/
def quoteList : List Name → String
  | [] => ""
  | [a] => quoteJson a.toString
  | a :: as => quoteJson a.toString ++ ", " ++ quoteList as

/-- One theorem of the table as a JSON object. -/
def theoremJson (env : Environment) (mod n : Name) (ci : ConstantInfo) : IO String := do
  let ty ← PrettyPrinter.ppExprLegacy env {} {} {} ci.type
  return "{\"name\": " ++ quoteJson n.toString ++ ", \"module\": " ++ quoteJson mod.toString ++
    ", \"axioms\": [" ++ quoteList (axiomsOf env n) ++
    "], \"type\": " ++ quoteJson (ty.pretty 100) ++ "}"

/-- The theorems of one module. -/
partial def moduleTheorems (env : Environment) (mod : Name) (names : Array Name) (i : Nat) (acc : List String) :
    IO (List String) := do
  if h : i < names.size then
    let n := names[i]
    match env.find? n with
    | some (.thmInfo ci) =>
      if n.isInternalDetail || isPrivateName n then moduleTheorems env mod names (i + 1) acc
      else do
        let row ← theoremJson env mod n (.thmInfo ci)
        moduleTheorems env mod names (i + 1) (row :: acc)
    | _ => moduleTheorems env mod names (i + 1) acc
  else return acc

/-- The theorems of all modules below `ProofKV.Thm`. -/
partial def allTheorems (env : Environment) (mods : Array Name) (datas : Array ModuleData) (i : Nat) (acc : List String) :
    IO (List String) := do
  if h : i < mods.size ∧ i < datas.size then
    if (`ProofKV.Thm).isPrefixOf mods[i] then
      let acc ← moduleTheorems env mods[i] datas[i].constNames 0 acc
      allTheorems env mods datas (i + 1) acc
    else allTheorems env mods datas (i + 1) acc
  else return acc

/-- Rows, separated by commas. -/
def joinRows : List String → String
  | [] => ""
  | [r] => r
  | r :: rs => r ++ ",\n" ++ joinRows rs

/-- Where the table goes: the file named by `PROOFKV_THEOREMS`, or, in the WebAssembly build, which has no environment
variables, a file that the checker has put there. -/
def tablePath : IO (Option String) := do
  match ← IO.getEnv "PROOFKV_THEOREMS" with
  | some path => return some path
  | none => if ← System.FilePath.pathExists "/out/theorems.json" then return some "/out/theorems.json" else return none

/-- The whole audit of an environment. -/
def audit (env : Environment) : IO Unit := do
  let mods := env.header.moduleNames
  let datas := env.header.moduleData
  let own := ownNames mods datas 0 {}
  match notAllowed (reach env own own.toList {} []) with
  | [] => pure ()
  | bad => throw (IO.userError ("axioms outside the allowed list, or theorems without a proof: " ++ joinNames bad))
  match ← tablePath with
  | none => pure ()
  | some path =>
    let rows ← allTheorems env mods datas 0 []
    IO.FS.writeFile path ("[\n" ++ joinRows rows ++ "\n]\n")

/-- Fails on an axiom outside the allowed list, and writes the table of theorems. -/
elab "#audit" : command => do
  let env ← getEnv
  liftM (m := IO) (audit (env.setExporting false))

end

#audit

module
public meta import Lean.Elab.Frontend
public meta import Lean.Elab.Command
public meta import Lean.Util.Path

/-! The resident checker: reads module names from standard input, elaborates `/src/<module>.lean`, prints the
messages, writes `/out/<module>.olean` when there are no errors. Every answer ends with one line
`@@done <module> <errors>`. -/

open Lean Elab

public meta section

/-- What is kept between modules. -/
structure Kept where
  /-- The loaded object files of `Init`, which every header imports first. -/
  init : Option ImportState := none
  /-- The text of the header before. -/
  text : String := ""
  /-- The environment after its imports: equal headers are imported once. -/
  env : Option Environment := none

/-- The input context of a source text. -/
def inputContext (name input : String) : Parser.InputContext :=
  { inputString := input, fileName := name, fileMap := FileMap.ofString input,
    endPos := input.rawEndPos, endPos_valid := by first | exact Nat.le_refl _ | simp }

/-- Prints messages, returns the number of errors. -/
def printAll (out : IO.FS.Handle) : List Message → Nat → IO Nat
  | [], n => pure n
  | m :: ms, n => do
    out.putStr (← m.toString)
    printAll out ms (if m.severity == .error then n + 1 else n)

/-- The loaded object files of `Init`. -/
def loadInit (kept : IO.Ref Kept) : IO ImportState := do
  if let some init := (← kept.get).init then
    return init
  let (_, init) ← (importModulesCore #[{ module := `Init }] .exported).run
  kept.modify fun k => { k with init := some init }
  return init

/-- The environment that has exactly the imports of a header: what `importModules` does, except that `Init` is loaded
once. The import of a list goes through it from left to right and `Init` comes first, so a start from the loaded `Init`
gives the same state. -/
def imported (kept : IO.Ref Kept) (text : String) (imports : Array Import) : IO Environment := do
  let k ← kept.get
  if let some env := k.env then
    if k.text == text then
      return env
  let (_, state) ← (importModulesCore imports .exported).run (← loadInit kept)
  let env ← finalizeImport state imports {} 0 (leakEnv := false) (loadExts := true) (level := .exported)
  kept.modify fun k => { k with text := text, env := some env }
  return env

/-- Public declarations without a docstring are reported. -/
def options : Options := KVMap.setBool {} `linter.missingDocs true

/-- The path of a module below the source folder, without its extension. -/
def relPath : Name → String
  | .str .anonymous s => s
  | .str p s => relPath p ++ "/" ++ s
  | .num p _ => relPath p
  | .anonymous => ""

/-- Checks one module; the number of errors. -/
def checkOne (out : IO.FS.Handle) (kept : IO.Ref Kept) (line : String) : IO Nat := do
  let nm := line.toName
  let rel := relPath nm
  let file := "/src/" ++ rel ++ ".lean"
  let input ← IO.FS.readFile file
  let ictx := inputContext file input
  let (header, pstate, msgs) ← Parser.parseHeader ictx
  if msgs.hasErrors then
    return ← printAll out msgs.toList 0
  unless HeaderSyntax.isModule header do
    throw (IO.userError "the file does not begin with `module`")
  let env ← imported kept (String.Pos.Raw.extract input 0 pstate.pos) (headerToImports header)
  let s ← IO.processCommands ictx pstate (Command.mkState (env.setMainModule nm) msgs options)
  let n ← printAll out s.commandState.messages.toList 0
  if n == 0 then
    writeModule s.commandState.env ("/out/" ++ rel ++ ".olean")
  return n

/-- Answers requests until the line `quit`. -/
partial def serve (inp out : IO.FS.Handle) (kept : IO.Ref Kept) : IO Unit := do
  let line := (← inp.getLine).trimAscii.toString
  if line == "quit" then return
  unless line.isEmpty do
    let n ← try checkOne out kept line catch e => do
      out.putStr ("/src/" ++ relPath line.toName ++ ".lean: error: " ++ toString e ++ "\n")
      pure 1
    out.putStr ("@@done " ++ line ++ " " ++ toString n ++ "\n")
    out.flush
  serve inp out kept

/-- The whole run. -/
def serveAll : IO Unit := do
  let inp ← IO.FS.Handle.mk "/dev/stdin" .read
  let out ← IO.FS.Handle.mk "/dev/stdout" .write
  out.putStr "@@ready\n"
  out.flush
  serve inp out (← IO.mkRef {})

/-- Runs the checker. -/
elab "#serve" : command => do liftM (m := IO) serveAll

end

#serve

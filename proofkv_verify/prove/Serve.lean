module
public meta import Lean.Elab.Frontend
public meta import Lean.Elab.Command
public meta import Lean.Util.Path

/-! The resident checker: reads module names from standard input, elaborates `/src/<module>.lean`, prints the
messages, writes `/out/<module>.olean` when there are no errors. Every answer ends with one line
`@@done <module> <errors>`. -/

open Lean Elab

public meta section

/-- Header text and environment of the previous module: equal headers are imported once. -/
structure Cache where
  /-- The text of the header. -/
  text : String
  /-- The environment after its imports. -/
  env : Environment

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

/-- The environment after the imports of a header. -/
def imported (cache : IO.Ref (Option Cache)) (nm : Name) (text : String) (header : HeaderSyntax)
    (msgs : MessageLog) (ictx : Parser.InputContext) : IO (Environment × MessageLog) := do
  if let some c ← cache.get then
    if c.text == text then
      return (c.env.setMainModule nm, msgs)
  let (env, msgs) ← processHeaderCore 0 (headerToImports header) (HeaderSyntax.isModule header) {} msgs ictx
    (mainModule := nm)
  unless msgs.hasErrors do cache.set (some { text := text, env := env })
  return (env, msgs)

/-- Public declarations without a docstring are reported. -/
def options : Options := KVMap.setBool {} `linter.missingDocs true

/-- The path of a module below the source folder, without its extension. -/
def relPath : Name → String
  | .str .anonymous s => s
  | .str p s => relPath p ++ "/" ++ s
  | .num p _ => relPath p
  | .anonymous => ""

/-- Checks one module; the number of errors. -/
def checkOne (out : IO.FS.Handle) (cache : IO.Ref (Option Cache)) (line : String) : IO Nat := do
  let nm := line.toName
  let rel := relPath nm
  let file := "/src/" ++ rel ++ ".lean"
  let input ← IO.FS.readFile file
  let ictx := inputContext file input
  let (header, pstate, msgs) ← Parser.parseHeader ictx
  let text := String.Pos.Raw.extract input 0 pstate.pos
  let (env, msgs) ← imported cache nm text header msgs ictx
  if msgs.hasErrors then
    return ← printAll out msgs.toList 0
  let s ← IO.processCommands ictx pstate (Command.mkState env msgs options)
  let n ← printAll out s.commandState.messages.toList 0
  if n == 0 then
    writeModule s.commandState.env ("/out/" ++ rel ++ ".olean")
  return n

/-- Answers requests until the line `quit`. -/
partial def serve (inp out : IO.FS.Handle) (cache : IO.Ref (Option Cache)) : IO Unit := do
  let line := (← inp.getLine).trimAscii.toString
  if line == "quit" then return
  unless line.isEmpty do
    let n ← try checkOne out cache line catch e => do
      out.putStr ("/src/" ++ line ++ ": error: " ++ toString e ++ "\n")
      pure 1
    out.putStr ("@@done " ++ line ++ " " ++ toString n ++ "\n")
    out.flush
  serve inp out cache

/-- The whole run. -/
def serveAll : IO Unit := do
  let inp ← IO.FS.Handle.mk "/dev/stdin" .read
  let out ← IO.FS.Handle.mk "/dev/stdout" .write
  out.putStr "@@ready\n"
  out.flush
  serve inp out (← IO.mkRef none)

/-- Runs the checker. -/
elab "#serve" : command => do liftM (m := IO) serveAll

end

#serve

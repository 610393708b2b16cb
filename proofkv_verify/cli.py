"""The command line. Heavy imports stay inside the commands: `check` and `replay` need python-flint and typer only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proofkv_verify.commands import decode
from proofkv_verify.commands.console import check_writable, command, read_text

EXIT_CODES = (
    "Exit codes: 0 nothing refuted and nothing undecided; 1 something refuted; 2 bad input or usage; "
    "3 nothing refuted, something undecided."
)
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Decides whether the certificate attached to a lossy KV cache can be believed.",
    epilog=EXIT_CODES,
)
trace_app = typer.Typer(no_args_is_help=True, help="Record a trace from a model, or describe a trace file.")
app.add_typer(trace_app, name="trace")

JsonOption = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON; - is stdout.")
]
SeedOption = Annotated[int, typer.Option("--seed", help="Every random choice follows from it.")]
EngineOption = Annotated[list[str] | None, typer.Option("--engine", help="fuzz, smt or attack; may be repeated.")]


def main() -> None:
    """Entry point of the console script."""
    app()


@app.command(epilog=EXIT_CODES)
@command
def audit(
    target: Annotated[str, typer.Argument(help="Built-in name, FILE.py:OBJECT, or entry point.")] = "",
    trace: Annotated[str, typer.Option("--trace", metavar="FILE", help="Trace file instead of the embedded one.")] = "",
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="Record a new trace from this model.")] = "",
    budget: Annotated[float, typer.Option("--budget", metavar="SECONDS", help="Time for all claims.")] = 90.0,
    seed: SeedOption = 0,
    engine: Annotated[
        list[str] | None, typer.Option("--engine", help="Inputs: adversarial, trace, random; may be repeated.")
    ] = None,
    claim: Annotated[list[str] | None, typer.Option("--claim", help="Try this claim only; may be repeated.")] = None,
    device: Annotated[str, typer.Option("--device", help="Where scheme and fast bounds run: cpu or cuda.")] = "cpu",
    json_path: JsonOption = None,
    html: Annotated[str, typer.Option("--html", metavar="FILE", help="Write a self-contained report page.")] = "",
    ledger: Annotated[str, typer.Option("--ledger", metavar="DIR", help="Keep the run's ledger there.")] = "",
    resume: Annotated[
        str, typer.Option("--resume", metavar="DIR", help="Continue the run whose ledger is there.")
    ] = "",
) -> int:
    """Audit a scheme: what its certificate claims, what is proved, refuted, or only survived a search.

    Without TARGET the built-in int8 is audited on the embedded trace of SmolLM2-135M.

    Examples:
    - `proofkv-verify audit int8`
    - `proofkv-verify audit my_scheme.py:scheme --html report.html`
    - `proofkv-verify audit int4_kivi --trace mine.safetensors --json - > audit.json`
    - `proofkv-verify audit --resume DIR`
    """
    from proofkv_verify.audit.data import ENGINES
    from proofkv_verify.audit.run import Request
    from proofkv_verify.commands.audit import Outputs, run_command

    check_writable(json_path, html or None)
    request = Request(target or "int8", trace, seed, budget, tuple(engine or ENGINES), device, tuple(claim or ()))
    given = bool(target)
    return run_command(request, Outputs(json_path, html or None, ledger, resume, model), target_given=given)


@app.command(epilog=EXIT_CODES)
@command
def refute(
    target: Annotated[str, typer.Argument(help="Slug of a bound, name of a mutant, or FILE.py:OBJECT.")],
    budget: Annotated[float, typer.Option("--budget", metavar="SECONDS", help="Time for all engines.")] = 30.0,
    seed: SeedOption = 0,
    engine: EngineOption = None,
    json_path: JsonOption = None,
    output: Annotated[
        str | None, typer.Option("--output", metavar="FILE", help="Write the counterexample, for `replay`.")
    ] = None,
) -> int:
    """Search for exact data on which a bound fails; a bound that survives is not thereby sound.

    Examples:
    - `proofkv-verify refute softmax_tv_mean_upper`
    - `proofkv-verify refute tv_mean_without_condition --output case.json`
    - `proofkv-verify refute my_bound.py:bound --engine smt --budget 60`
    """
    from proofkv_verify.commands.search import refute_command

    check_writable(json_path, output)
    return refute_command(target, engine, budget, seed, json_path, output)


@app.command(epilog=EXIT_CODES)
@command
def replay(
    case: Annotated[Path, typer.Argument(metavar="CASE.json", help="A counterexample, or a report that holds some.")],
    claim: Annotated[
        str | None, typer.Option("--claim", metavar="FILE.py:OBJECT", help="Run this file's claim.")
    ] = None,
    json_path: JsonOption = None,
) -> int:
    """Evaluate counterexamples again, exactly: 1 if one stands, 3 if undecided, 0 if every claim holds.

    Examples:
    - `proofkv-verify replay case.json`
    - `proofkv-verify replay audit.json`
    - `proofkv-verify replay case.json --claim my_bound.py:bound`
    """
    from proofkv_verify.commands.replay import replay_command

    return replay_command(read_text(case), json_path, claim)


@app.command(epilog=EXIT_CODES)
@command
def check(
    certificate: Annotated[Path, typer.Argument(metavar="CERT.json", help="A certificate.")],
    second_opinion: Annotated[bool, typer.Option("--second-opinion", help="Evaluate again with mpmath.")] = False,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME|FILE", help="Decoding: the model, if it is not shipped.")
    ] = None,
    full: Annotated[
        Path | None, typer.Option("--full", metavar="FILE", help="Decoding: the full cache's rows, to check sidecars.")
    ] = None,
    json_path: JsonOption = None,
) -> int:
    """Judge a certificate: against the exact data where it carries them, else against the value of its bound.

    The certificate of a decoding step is derived again, and what had to be taken on trust is listed. A file that was
    altered after it was written is bad input: nothing is judged.

    Examples:
    - `proofkv-verify check cert.json`
    - `proofkv-verify check cert.json --second-opinion`
    - `proofkv-verify check steps/step-255.json --full steps/rows.safetensors`
    """
    from proofkv_verify.commands.replay import check_command

    check_writable(json_path)
    return check_command(certificate, json_path, second=second_opinion, model=model, full=full)


@app.command(epilog="Exit codes: 0 all killed; 2 bad input or usage; 3 some left alive.")
@command
def mutants(
    budget: Annotated[float, typer.Option("--budget", metavar="SECONDS", help="Time for all mutants.")] = 120.0,
    seed: SeedOption = 0,
    engine: EngineOption = None,
    json_path: JsonOption = None,
) -> int:
    """Measure the search: which engine finds a counterexample to which planted wrong bound, and how fast.

    Examples:
    - `proofkv-verify mutants`
    - `proofkv-verify mutants --engine smt --json mutants.json`
    """
    from proofkv_verify.commands.search import mutants_command

    check_writable(json_path)
    return mutants_command(engine, budget, seed, json_path)


@app.command(name="list")
@command
def list_(
    what: Annotated[str, typer.Argument(help="schemes, evictors, bounds, mutants or models.")],
    json_path: JsonOption = None,
) -> int:
    """List what is built in.

    Examples:
    - `proofkv-verify list schemes`
    - `proofkv-verify list bounds --json -`
    """
    from proofkv_verify.commands.listing import list_command

    return list_command(what, json_path)


@app.command(epilog="Exit codes: 0 every link holds and every gap is declared; 1 not so; 2 bad input or usage.")
@command
def status(json_path: JsonOption = None) -> int:
    """Print the checked link table of a checkout: theorem, reference, fast path, SMT, fuzz target, tests.

    Examples:
    - `proofkv-verify status`
    - `proofkv-verify status --json -`
    """
    from proofkv_verify.commands.status import status_command

    check_writable(json_path)
    return status_command(json_path)


app.command(name="decode", epilog=decode.EPILOG)(decode.decode)


@app.command(epilog="Exit codes: 0 proved; 1 a proof fails; 2 bad input or usage; 3 no Lean to be had.")
@command
def prove(
    engine: Annotated[str, typer.Option("--engine", metavar="auto|lake|wasm", help="How Lean is run.")] = "auto",
    json_path: JsonOption = None,
    cache: Annotated[Path | None, typer.Option("--cache", metavar="DIR", help="Downloads and object files.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="Lean processes of up to 3 GB each (wasm); 1 or 2.")
    ] = None,
    write_theorems: Annotated[bool, typer.Option("--write-theorems", help="Write proofs/theorems.json.")] = False,
) -> int:
    """Build and audit the Lean proofs of a checkout.

    Examples:
    - `proofkv-verify prove`
    - `proofkv-verify prove --engine wasm --json proofs.json`
    """
    from proofkv_verify.errors import InvalidInputError
    from proofkv_verify.prove import run_prove

    if engine not in ("auto", "lake", "wasm"):
        raise InvalidInputError("engine", "auto, lake or wasm", engine)
    check_writable(json_path)
    return run_prove(engine, json_path, cache_dir=cache, jobs=jobs, write_theorems=write_theorems)


@trace_app.command(name="record")
@command
def trace_record(
    output: Annotated[Path, typer.Argument(metavar="FILE.safetensors", help="The trace file to write.")],
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="See `list models`.")] = "smollm2",
    text: Annotated[Path | None, typer.Option("--text", metavar="FILE", help="Text to read, UTF-8.")] = None,
    layer: Annotated[list[int] | None, typer.Option("--layer", help="A layer to record; may be repeated.")] = None,
    tokens: Annotated[int, typer.Option("--tokens", help="Number of keys.")] = 512,
    queries: Annotated[int, typer.Option("--queries", help="Number of query positions, the last ones.")] = 32,
    dtype: Annotated[str, typer.Option("--dtype", help="float16, bfloat16 or float32.")] = "float16",
    seed: Annotated[int | None, typer.Option("--seed", help="Draws where in the text to start.")] = None,
) -> int:
    """Run a model over a text and keep the queries, keys and values of its attention layers.

    Examples:
    - `proofkv-verify trace record mine.safetensors --tokens 1024 --layer 0 --layer 15`
    """
    from proofkv_verify.commands.trace import record_command

    return record_command(output, model, text, layer, tokens, queries, dtype, seed)


@trace_app.command(name="info")
@command
def trace_info(
    trace: Annotated[str, typer.Argument(metavar="FILE", help="A trace file; the embedded one if absent.")] = "",
    json_path: JsonOption = None,
) -> int:
    """Describe a trace file and check its form.

    Examples:
    - `proofkv-verify trace info`
    - `proofkv-verify trace info mine.safetensors --json -`
    """
    from proofkv_verify.commands.trace import info_command

    return info_command(trace, json_path)


if __name__ == "__main__":
    main()

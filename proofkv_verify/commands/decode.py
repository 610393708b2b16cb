"""The arguments of `decode`, which are many; `proofkv_verify.decode.command` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proofkv_verify.commands.console import check_writable, command
from proofkv_verify.decode.defaults import DEFAULT_LADDER, DEFAULT_MODEL

EPILOG = (
    "Exit codes: 0 every token was proved or read; 1 a sidecar, a certificate or --verify was contradicted; "
    "2 bad input or usage."
)


@command
def decode(
    model: Annotated[str, typer.Option("--model", metavar="NAME|FILE", help="See `list models`.")] = DEFAULT_MODEL,
    scheme: Annotated[
        str, typer.Option("--scheme", metavar="BITS:BITS:...", help="Increasing ladder of bit widths; int8 is 8:16.")
    ] = DEFAULT_LADDER,
    page_size: Annotated[int, typer.Option("--page-size", help="Tokens of a page.")] = 16,
    policy: Annotated[
        str,
        typer.Option(
            "--policy", metavar="NAME[:N]", help="Rows of generated tokens: exact, joint or radius; see below."
        ),
    ] = "exact",
    method: Annotated[
        str, typer.Option("--method", help="What decides: ellipsoid, vertex-last, interval or l2.")
    ] = "ellipsoid",
    processor: Annotated[
        list[str] | None,
        typer.Option("--processor", metavar="NAME:VALUE", help="A logit processor of the engine; may be repeated."),
    ] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", help="Text to continue; held-out text of the models without it.")
    ] = None,
    prompt_file: Annotated[
        Path | None, typer.Option("--prompt-file", metavar="FILE", help="File with the text to continue.")
    ] = None,
    tokens: Annotated[int, typer.Option("--tokens", help="How many tokens to emit.")] = 64,
    keep_levels: Annotated[bool, typer.Option("--keep-levels", help="Refined pages stay refined.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Run the full cache beside and compare.")] = False,
    steps: Annotated[bool, typer.Option("--steps", help="A line a step in place of the text.")] = False,
    json_path: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON; - is stdout.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE.svg", help="Margin against radius over the steps.")
    ] = None,
    certificates: Annotated[
        Path | None, typer.Option("--certificates", metavar="DIR", help="Keep a certificate of each step, for `check`.")
    ] = None,
) -> int:
    """Decode greedily from lossy pages, each token proved or repaired.

    The policy says what is known of generated tokens' rows: with `exact` a full-cache pass recomputes them after every
    token (`exact:4`: after four), with `joint` one certificate bounds them all until it fails (`joint:8`: or after
    eight), `radius` is the baseline that soon fails.

    Examples:
    - `proofkv-verify decode --tokens 64 --verify`
    - `proofkv-verify decode --scheme 8:16 --steps --prompt "def main"`
    - `proofkv-verify decode --policy joint --processor temperature:0.7 --processor top-p:0.9`
    - `proofkv-verify decode --tokens 4 --certificates steps` and `proofkv-verify check steps/step-255.json`
    """
    from proofkv_verify.decode.command import run_decode

    check_writable(json_path, None if plot is None else str(plot))
    return run_decode(
        model=model, scheme=scheme, page_size=page_size, policy=policy, method=method, processors=processor or (),
        prompt=prompt, prompt_file=prompt_file, tokens=tokens, keep_levels=keep_levels, verify=verify,
        steps=steps, json_path=json_path, plot=plot, certificates=certificates,
    )  # fmt: skip

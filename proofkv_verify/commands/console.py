"""What the commands share: where text goes, exit codes, errors in one line."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ParamSpec

import typer
from rich.console import Console

from proofkv_verify.errors import InvalidInputError, ProofkvError
from proofkv_verify.verdict import Inconclusive, Refuted, Verdict

OK, REFUTED, BAD_INPUT, UNDECIDED = 0, 1, 2, 3
CRASHED, INTERRUPTED = 70, 130
P = ParamSpec("P")


def command(function: Callable[P, int]) -> Callable[P, None]:
    """A function that returns an exit code, as a command: bad input is one line on standard error and exit code 2.

    A fault of this package ends with 70 and a traceback, so that no crash reads as "refuted".
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = function(*args, **kwargs)
        except ProofkvError as error:
            _complain(str(error))
            raise typer.Exit(BAD_INPUT) from None
        except ModuleNotFoundError as error:
            _complain(f"this command needs a package that is not installed: {error.name}")
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            errors().print("interrupted", style="yellow")
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, BrokenPipeError):
            raise
        except Exception:
            errors().print_exception()
            raise typer.Exit(CRASHED) from None
        raise typer.Exit(code)

    return run


def _complain(text: str) -> None:
    errors().print(f"error: {text}", style="red", markup=False, highlight=False, soft_wrap=True)


PIPED_WIDTH = 120
"""Columns of a table that goes to a file or a pipe."""


def errors() -> Console:
    """A console on standard error."""
    return Console(stderr=True)


def human(json_path: str | None) -> Console:
    """The console for human text: standard error when standard output carries JSON; tables fit when it is piped."""
    console = Console(stderr=json_path == "-")
    return console if console.is_terminal else Console(stderr=json_path == "-", width=max(console.width, PIPED_WIDTH))


def write_json(path: str | None, document: Mapping[str, Any]) -> None:
    """Writes a document to a file, to standard output for "-", or nowhere for None."""
    if path is not None:
        write_text(path, json.dumps(document, indent=1) + "\n")


def write_text(path: str, text: str) -> None:
    """Writes text to a file, or to standard output for "-".

    Raises:
        InvalidInputError: the file cannot be written.
    """
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise InvalidInputError("output", "a file that can be written", error) from None


def check_writable(*paths: str | None) -> None:
    """Refuses output paths that are folders or in folders that do not exist, before long work starts.

    Raises:
        InvalidInputError: names the path.
    """
    for path in paths:
        place = Path(path or "").resolve()
        if path not in (None, "-") and (place.is_dir() or not place.parent.is_dir()):
            raise InvalidInputError("output", "a file in an existing folder", path)


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        InvalidInputError: no such file, or not text.
    """
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(str(path), "a readable text file", error) from None


def verdict_code(verdict: Verdict) -> int:
    """1 for refuted, 3 for inconclusive, else 0."""
    if isinstance(verdict, Refuted):
        return REFUTED
    return UNDECIDED if isinstance(verdict, Inconclusive) else OK


def worst(codes: list[int]) -> int:
    """The exit code of several verdicts: refuted before undecided before nothing."""
    return next((code for code in (REFUTED, UNDECIDED) if code in codes), OK)

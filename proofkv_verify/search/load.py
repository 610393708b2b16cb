"""Reads `file.py:object`: a claim or a scheme in a user's file, with the digest of the source."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from proofkv_verify.claims import Claim
from proofkv_verify.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Loaded:
    """An object from a user's file.

    Attributes:
        name: `file.py:object` as it was asked for.
        value: the object.
        source: "sha256:" and the digest of the file's bytes as they were run.
    """

    name: str
    value: Any
    source: str


def load_object(target: str) -> Loaded:
    """Runs the file of `file.py:object` and returns the object; the file is the user's own code and is trusted.

    Raises:
        InvalidInputError: not of that form, no such file, a file that does not run, or no such object.
    """
    path, name = _split(target)
    try:
        code = path.read_bytes()
    except OSError as error:
        raise InvalidInputError("target", "a readable Python file", f"{path}: {error.strerror}") from None
    module = _run(path, code)
    if not hasattr(module, name):
        public = ", ".join(sorted(key for key in vars(module) if not key.startswith("_"))) or "nothing"
        raise InvalidInputError("target", f"an object of {path.name} ({public})", name)
    return Loaded(target, getattr(module, name), "sha256:" + hashlib.sha256(code).hexdigest())


def load_claim(target: str) -> tuple[Claim, str]:
    """A claim registered with `@claim(kind)` in `file.py:object`, renamed to the target, and its source digest.

    Raises:
        InvalidInputError: as `load_object`, or the object is not a claim.
    """
    loaded = load_object(target)
    value = loaded.value
    if not isinstance(value, Claim):
        expected = 'a claim: a function under @claim("softmax_tv") or another kind'
        raise InvalidInputError("target", expected, type(value).__name__)
    renamed = Claim(
        target, value.kind, value.function, value.statement, value.hypotheses, value.lean, mutates=value.mutates
    )
    return renamed, loaded.source


def _split(target: str) -> tuple[Path, str]:
    path, colon, name = target.rpartition(":")
    if not colon or not path.endswith(".py") or not name.isidentifier():
        raise InvalidInputError("target", "FILE.py:OBJECT", target)
    return Path(path), name


def _run(path: Path, code: bytes) -> ModuleType:
    """Runs exactly the bytes that were read, so that the digest belongs to what ran."""
    # Decorators such as dataclass look their module up in sys.modules while the file runs.
    module_name = "proofkv_verify_user_" + hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    module = ModuleType(module_name)
    module.__file__ = str(path)
    sys.modules[module_name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        exec(compile(code, str(path), "exec"), vars(module))
    except Exception as error:
        del sys.modules[module_name]
        place = f"line {error.lineno}: " if isinstance(error, SyntaxError) else ""
        raise InvalidInputError("target", "a Python file that runs", f"{path}: {place}{error!r}") from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module

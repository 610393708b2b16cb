"""Schemes of users: one function, or an object with compress and restore, made into a `base.Scheme`.

Only what the user's code returns is believed; where it declares no radii, a witness is measured from the originals
(copied before the code runs) and the restored tensors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.schemes.base import SIDECAR_FIELDS, Declaration, Radii, Scheme, Sidecar, check_keys_values
from proofkv_verify.schemes.compare import read_bits
from proofkv_verify.schemes.size import tensor_bytes
from proofkv_verify.schemes.witness import Witness, measure, sidecar_of_witness
from proofkv_verify.search.load import load_object

_FORMS = "a function of keys, or of keys and values, or an object with compress(keys, values) and restore(pages)"


@dataclass(frozen=True, slots=True)
class UserPages:
    """What a user's code returned, and the witness measured beside it.

    Attributes:
        payload: the object that `compress` returned, or the restored tensors of a function.
        seq_len: number of tokens.
        stated_bytes: size as the payload states it (`num_bytes`), else as counted; None for a function.
        originals: copies, to check shapes and to measure after appends; the harness's own, not counted.
    """

    payload: Any
    seq_len: int
    stated_bytes: int | None
    witness: Witness | None
    originals: tuple[Tensor, Tensor]

    @property
    def num_bytes(self) -> int | None:
        """Bytes of payload and stored witness; None where the payload's size is not stated."""
        if self.stated_bytes is None or self.witness is None:
            return self.stated_bytes
        return self.stated_bytes + self.witness.num_bytes


# No slots and no defaults: a class attribute `append` or `step`, even a slot, would pass for the method itself.
@dataclass(frozen=True)
class UserScheme:
    """A user's code as a scheme; `append` and `step` are None unless the user wrote them."""

    name: str
    declaration: Declaration
    inner: Any
    append: Callable[[UserPages, Tensor, Tensor], UserPages] | None
    step: Callable[[Tensor, float], tuple[Tensor, Tensor, Tensor]] | None

    def compress(self, keys: Tensor, values: Tensor) -> UserPages:
        """The user's pages, and a measured witness unless the user declares radii."""
        check_keys_values(keys, values)
        originals = (keys.clone(), values.clone())
        payload = self.inner.compress(keys, values)
        return _pages(self.inner, payload, originals)

    def restore(self, pages: UserPages) -> tuple[Tensor, Tensor]:
        """The user's restored tensors, of checked shapes."""
        return _restored(self.inner.restore(pages.payload), pages.originals)

    def sidecar(self, pages: UserPages) -> Sidecar:
        """The user's radii, or the measured witness."""
        if pages.witness is not None:
            return sidecar_of_witness(pages.witness)
        return _declared(self.inner.sidecar(pages.payload))


@dataclass(frozen=True, slots=True)
class _Function:
    """One function as compress and restore: its pages are its results."""

    call: Callable[..., Any]
    takes_values: bool

    def compress(self, keys: Tensor, values: Tensor) -> tuple[Any, Any]:
        if not self.takes_values:
            return self.call(keys), values.clone()
        result = self.call(keys, values)
        if not isinstance(result, tuple) or len(result) != 2:
            raise InvalidInputError("result", "a tuple (keys_hat, values_hat)", type(result).__name__)
        return result

    def restore(self, pages: tuple[Any, Any]) -> tuple[Any, Any]:
        return pages


def load_scheme(target: str) -> tuple[Scheme, str]:
    """The scheme at `file.py:object`, and the digest of its source.

    Raises:
        InvalidInputError: no such file or object, or it is no scheme.
    """
    loaded = load_object(target)
    return wrap(loaded.value, target), loaded.source


def wrap(found: Any, name: str) -> Scheme:
    """A user's object as a scheme; a complete `Scheme` is returned as it is.

    Args:
        found: a function keys -> keys_hat (values are kept), a function (keys, values) -> (keys_hat, values_hat), an
            object with compress and restore (also sidecar, append, step, declaration), or a class of such objects that
            needs no arguments.
        name: how reports call it.

    Raises:
        InvalidInputError: it is none of these.
    """
    if isinstance(found, type):
        found = _instance(found, name)
    if callable(getattr(found, "compress", None)) and callable(getattr(found, "restore", None)):
        complete = isinstance(found, Scheme) and isinstance(found.declaration, Declaration)
        return found if complete else _object(found, name)
    if not callable(found):
        raise InvalidInputError(name, _FORMS, type(found).__name__)
    function = _Function(found, takes_values=_arity(found, name) == 2)
    declaration = Declaration(radii="measured", notes="one function; the witness is measured")
    return UserScheme(name, declaration, function, None, None)


def _object(found: Any, name: str) -> UserScheme:
    radii: Radii = "declared" if callable(getattr(found, "sidecar", None)) else "measured"
    declaration = replace(_declaration(getattr(found, "declaration", {}), name), radii=radii)
    append = step = None
    if callable(getattr(found, "append", None)):
        append = _append(found)
    if callable(getattr(found, "step", None)):
        step = found.step
    return UserScheme(name, declaration, found, append, step)


def _append(found: Any) -> Callable[[UserPages, Tensor, Tensor], UserPages]:
    def append(pages: UserPages, keys: Tensor, values: Tensor) -> UserPages:
        check_keys_values(keys, values)
        originals = (_join(pages.originals[0], keys), _join(pages.originals[1], values))
        return _pages(found, found.append(pages.payload, keys, values), originals)

    return append


def _pages(inner: Any, payload: Any, originals: tuple[Tensor, Tensor]) -> UserPages:
    witness = None
    if not callable(getattr(inner, "sidecar", None)):
        witness = measure(*originals, *_restored(inner.restore(payload), originals))
    stated = getattr(payload, "num_bytes", None)
    if stated is None and not isinstance(inner, _Function):
        stated = tensor_bytes(payload)
    return UserPages(payload, originals[0].shape[2], stated, witness, originals)


def _restored(result: Any, originals: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise InvalidInputError("restore", "a tuple (keys_hat, values_hat)", type(result).__name__)
    for i, name in enumerate(("keys_hat", "values_hat")):
        if not isinstance(result[i], Tensor) or not result[i].is_floating_point():
            raise InvalidInputError(name, "a floating tensor", getattr(result[i], "dtype", type(result[i]).__name__))
        if result[i].shape != originals[i].shape:
            raise ShapeError(name, str(tuple(originals[i].shape)), tuple(result[i].shape))
    return result


def _declared(result: Any) -> Sidecar:
    if isinstance(result, Sidecar):
        result = {name: getattr(result, name) for name in SIDECAR_FIELDS}
    if not isinstance(result, Mapping):
        raise InvalidInputError("sidecar", f"a mapping with some of {', '.join(SIDECAR_FIELDS)}", type(result).__name__)
    for name in result:
        if name not in SIDECAR_FIELDS:
            raise InvalidInputError("sidecar", f"fields among {', '.join(SIDECAR_FIELDS)}", repr(name))
    return Sidecar(**{name: None if value is None else read_bits(value) for name, value in result.items()})


def _declaration(given: Any, name: str) -> Declaration:
    if isinstance(given, Declaration):
        return given
    names = {f.name for f in fields(Declaration)}
    if not isinstance(given, Mapping) or not set(given) <= names:
        raise InvalidInputError(f"{name}: declaration", f"a mapping with some of {', '.join(sorted(names))}", given)
    return Declaration(**given)


def _instance(cls: type, name: str) -> Any:
    try:
        return cls()
    except TypeError as error:
        raise InvalidInputError(name, "a class that needs no arguments", error) from None


def _arity(function: Callable[..., Any], name: str) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise InvalidInputError(name, _FORMS, "a callable without a signature") from None
    required = sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)
    if required not in (1, 2):
        raise InvalidInputError(name, _FORMS, f"a function of {required} arguments")
    return required


def _join(a: Tensor, b: Tensor) -> Tensor:
    if a.dtype != b.dtype or (*a.shape[:2], a.shape[3]) != (*b.shape[:2], b.shape[3]):
        raise ShapeError("keys, values", f"{a.dtype} and the sizes of the pages but for T", tuple(b.shape))
    return torch.cat([a, b], 2)

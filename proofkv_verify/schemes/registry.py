"""Built-in schemes by name, with options after a colon: `int8:scale=fp16,symmetric=no`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.schemes.base import Scheme
from proofkv_verify.schemes.fp8 import fp8
from proofkv_verify.schemes.identity import Identity
from proofkv_verify.schemes.int8 import int8_block, int8_channel, int8_token
from proofkv_verify.schemes.kivi import kivi

ENTRY_POINTS = "proofkv_verify.schemes"


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a scheme: the argument it sets, the texts it takes, and how text becomes a value."""

    argument: str
    accepts: str
    read: Callable[[str], Any]
    example: str


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in scheme: its builder and options by name."""

    summary: str
    build: Callable[..., Scheme]
    options: Mapping[str, Option] = field(default_factory=dict)


def scheme_named(text: str) -> Scheme:
    """The built-in scheme, or the installed one, that a text names.

    Args:
        text: a name of `SCHEMES`, with options: `int8:scale=fp16,symmetric=no`; or the name of an entry point in the
            group `proofkv_verify.schemes`.

    Raises:
        InvalidInputError: no such scheme or option; the message lists those there are.

    Example:
        >>> scheme_named("int8:scale=fp16").declaration.scale_dtype
        'fp16'
    """
    name, colon, rest = text.partition(":")
    if name in SCHEMES:
        return _build(name, text, rest if colon else "")
    if not colon:
        for point in entry_points(group=ENTRY_POINTS):
            if point.name == name:
                return _installed(point.name, point.load())
    raise InvalidInputError("scheme", f"one of {', '.join(scheme_names())}, or file.py:object", repr(text))


def scheme_names() -> tuple[str, ...]:
    """Names of built-in schemes, then of installed ones."""
    installed = sorted({point.name for point in entry_points(group=ENTRY_POINTS)} - set(SCHEMES))
    return (*SCHEMES, *installed)


def resolve_scheme(target: str) -> Scheme:
    """The scheme that a command line names: built-in with options, entry point, or `file.py:object`.

    Raises:
        InvalidInputError: there is none of that name, or the object is no scheme.
    """
    if ".py:" in target or target.endswith(".py"):
        from proofkv_verify.schemes.user import load_scheme  # noqa: PLC0415 (user imports this module's neighbours)

        return load_scheme(target)[0]
    return scheme_named(target)


def _installed(name: str, found: object) -> Scheme:
    from proofkv_verify.schemes.user import wrap  # noqa: PLC0415

    return wrap(found, name)


def _build(name: str, text: str, rest: str) -> Scheme:
    builtin = SCHEMES[name]
    arguments: dict[str, Any] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        option = builtin.options.get(key)
        if option is None or not equals:
            raise InvalidInputError(f"option of {name}", _usage(builtin), repr(part))
        if option.argument in arguments:
            raise InvalidInputError(f"{name}:{key}", "one value", repr(rest))
        arguments[option.argument] = _read(f"{name}:{key}", option, value)
    return builtin.build(**arguments, name=text)


def _read(name: str, option: Option, text: str) -> Any:
    try:
        return option.read(text)
    except (KeyError, ValueError):
        raise InvalidInputError(name, option.accepts, repr(text)) from None


def _usage(builtin: Builtin) -> str:
    if not builtin.options:
        return "no options"
    return "some of " + ", ".join(f"{key}={option.accepts}" for key, option in builtin.options.items())


def _choice(argument: str, *texts: str) -> Option:
    return Option(argument, "|".join(texts), dict(zip(texts, texts, strict=True)).__getitem__, texts[0])


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split("/"))


def _common(*, overflow: tuple[str, ...]) -> dict[str, Option]:
    yes_no = {"yes": True, "no": False}
    rounding = {"up": True, "nearest": False}
    return {
        "scale": _choice("scale", "fp32", "fp16", "bf16"),
        "scale_rounding": Option("scale_up", "up|nearest", rounding.__getitem__, "up"),
        "overflow": _choice("overflow", *overflow),
        "restored": _choice("restored", "input", "fp32", "fp16", "bf16"),
        "symmetric": Option("symmetric", "yes|no", yes_no.__getitem__, "no"),
    }


def _without(options: Mapping[str, Option], *names: str) -> dict[str, Option]:
    return {key: option for key, option in options.items() if key not in names}


_INT8 = _common(overflow=("saturate", "error"))
_GROUP = Option("group", "POSITIVE INTEGER", _positive, "32")
_TOKENS = Option("tokens", "POSITIVE INTEGER", _positive, "16")
_RESIDUAL = Option("residual", "POSITIVE INTEGER", _positive, "64")
_KIVI = {**_without(_INT8, "symmetric"), "group": _GROUP, "residual": _RESIDUAL}
_FP8 = {
    **_without(_common(overflow=("saturate", "nan", "error")), "symmetric"),
    "key_scale": Option("key_scales", "NUMBER or NUMBER/NUMBER/... (one a KV head)", _numbers, "0.5"),
    "value_scale": Option("value_scales", "NUMBER or NUMBER/NUMBER/... (one a KV head)", _numbers, "0.25"),
}

SCHEMES: Mapping[str, Builtin] = MappingProxyType(
    {
        "identity": Builtin("keeps every bit", Identity),
        "int8": Builtin("one scale a token", int8_token, {**_INT8, "group": _GROUP}),
        "int8_channel": Builtin("one scale a channel and 64 tokens", int8_channel, {**_INT8, "tokens": _TOKENS}),
        "int8_block": Builtin(
            "one scale a block of 16 tokens x 32 channels", int8_block, {**_INT8, "tokens": _TOKENS, "group": _GROUP}
        ),
        "int4_kivi": Builtin("4 bits, keys per channel, values per token", partial(kivi, 4), _KIVI),
        "int2_kivi": Builtin("2 bits, keys per channel, values per token", partial(kivi, 2), _KIVI),
        "fp8_e4m3fn": Builtin("8-bit floats, largest 448", partial(fp8, "e4m3fn"), _FP8),
        "fp8_e5m2": Builtin("8-bit floats, largest 57344", partial(fp8, "e5m2"), _FP8),
    }
)

"""Logit processors that an engine may apply before its argmax: those that keep the winner, and why the others do not.

A certificate says that the winner's score is strictly above every other in real arithmetic. A strictly increasing map
of single logits keeps that order, and so does masking that always leaves the largest logit standing; the greedy token
is then the same with the processor as without it, so an accepted processor is recorded and not computed. An engine's
own rounding is not in this: a rounded increasing map can send two different logits to one float (a soft cap far above
its cap, a very high temperature), and the engine then breaks a tie that the exact scores do not have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from proofkv_verify.errors import InvalidInputError

_SCALES = "divides every logit by one positive number"
_BENDS = "cap * tanh(logit / cap) increases strictly with the logit"
_MASKS = "only masks logits, and never the largest"


def _positive(value: float) -> bool:
    return 0 < value < math.inf


_KEPT: Mapping[str, tuple[str, Callable[[float], bool], str]] = {
    "temperature": ("a positive number (at 0 or below it keeps no order)", _positive, _SCALES),
    "softcap": ("a positive number", _positive, _BENDS),
    "top-k": ("a positive integer", lambda v: _positive(v) and v == int(v), _MASKS),
    "top-p": ("a number above 0 and at most 1", lambda v: 0 < v <= 1, _MASKS),
    "min-p": ("a number from 0 to 1", lambda v: 0 <= v <= 1, _MASKS),
}
_REFUSED = {
    "repetition-penalty": "it changes the logits of tokens that have occurred, the winner's perhaps among them",
    "frequency-penalty": "it lowers tokens by how often they have occurred",
    "presence-penalty": "it lowers tokens that have occurred",
    "logit-bias": "it adds another number to each token's logit",
    "no-repeat-ngram": "it can forbid the winner",
    "bad-words": "it can forbid the winner",
    "suppress-tokens": "it can forbid the winner",
    "min-length": "it can forbid the winner where that is the end token",
    "forced-token": "it sets the token without regard to its logit",
    "grammar": "it can forbid the winner",
    "typical-p": "it can mask the most probable token, which may be the least typical",
    "xtc": "it masks the most probable tokens on purpose",
    "guidance-scale": "it mixes in the logits of another prompt, of which nothing is known here",
    "watermark": "it raises some tokens over others",
}


@dataclass(frozen=True, slots=True)
class Processor:
    """A logit processor that cannot change the greedy token.

    Attributes:
        name: "temperature", "softcap", "top-k", "top-p" or "min-p".
        value: its parameter.

    Raises:
        InvalidInputError: a value out of range, a processor that can change the winner (the message says how), or one
            that is not known.
    """

    name: str
    value: float

    def __post_init__(self) -> None:
        if self.name in _REFUSED:
            kept = f"one that keeps the largest logit the largest; {self.name} may not: {_REFUSED[self.name]}"
            raise InvalidInputError("processor", kept, self.name)
        if self.name not in _KEPT:
            raise InvalidInputError("processor", f"{', '.join(_KEPT)}, each with a value such as top-k:50", self.name)
        expected, fits, _ = _KEPT[self.name]
        if not fits(self.value):
            raise InvalidInputError(f"processor {self.name}", expected, self.value)

    @property
    def reason(self) -> str:
        """Why the largest logit stays the largest."""
        return _KEPT[self.name][2]


def parse_processor(text: str) -> Processor:
    """A processor from text such as `temperature:0.7`, `softcap:30`, `top-k:50`, `top-p:0.9` or `min-p:0.1`.

    Raises:
        InvalidInputError: as `Processor`; no value counts as one out of range.
    """
    name, _, given = text.partition(":")
    return Processor(name.strip().replace("_", "-"), _number(given))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def parse_processors(given: Iterable[Processor | str]) -> tuple[Processor, ...]:
    """Each of them as a `Processor`, in the order in which the engine applies them.

    Any order and any number keep the winner, since each one by itself does.
    """
    return tuple(parse_processor(each) if isinstance(each, str) else each for each in given)

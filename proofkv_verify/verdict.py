"""Verdicts about one instance and statuses of a universal claim: three outcomes, never two."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NoReturn, TypeAlias

if TYPE_CHECKING:
    from proofkv_verify.certificate import Counterexample


@dataclass(frozen=True, slots=True)
class Verified:
    """The claim holds for this instance: the claimed number was shown to be on the sound side."""

    vacuous: bool = False

    def __bool__(self) -> NoReturn:
        _no_truth_value()


@dataclass(frozen=True, slots=True)
class Refuted:
    """The claim fails; the counterexample, where one is carried, replays exactly."""

    reason: str
    counterexample: Counterexample | None = None

    def __bool__(self) -> NoReturn:
        _no_truth_value()


@dataclass(frozen=True, slots=True)
class Inconclusive:
    """Neither was shown; the reason says what was missing."""

    reason: str

    def __bool__(self) -> NoReturn:
        _no_truth_value()


Verdict: TypeAlias = Verified | Refuted | Inconclusive


class Status(StrEnum):
    """What is known of a universal claim; `survived` means searched without success and never `sound`."""

    PROVED = "proved"
    REFUTED = "refuted"
    SURVIVED = "survived"
    UNDECIDED = "undecided"


def _no_truth_value() -> NoReturn:
    raise TypeError("a verdict has three values and no truth value; match on its type")

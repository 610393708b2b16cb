"""The exceptions of the package: bad input is an error, an expected outcome is a verdict."""

from __future__ import annotations


class ProofkvError(Exception):
    """Base of all errors that this package raises on purpose."""


class InvalidInputError(ProofkvError, ValueError):
    """An input breaks its documented form; the message names it, what was expected and what came."""

    def __init__(self, name: str, expected: str, got: object) -> None:
        super().__init__(f"{name}: expected {expected}, got {got}")
        self.name = name
        self.expected = expected
        self.got = str(got)


class ShapeError(InvalidInputError):
    """A tensor or nested list has the wrong rank or size."""


class CertificateFormatError(InvalidInputError):
    """A JSON document is not a certificate, counterexample or report of a known version."""


class SolverUnavailableError(ProofkvError):
    """An optional engine or package that this action needs is not installed."""


class UndecidedError(ProofkvError):
    """A comparison of balls could not be decided at the working precision."""


class NotAlgebraicError(ProofkvError):
    """A function that needs exp, log or sqrt was evaluated where only field operations and max exist."""

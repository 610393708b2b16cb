"""How a claim can be evaluated: in which forms of the data, on batches or one case at a time."""

from __future__ import annotations

from random import Random

from proofkv_verify.check import check_claim
from proofkv_verify.claims import Claim
from proofkv_verify.errors import InvalidInputError
from proofkv_verify.kinds import Instance
from proofkv_verify.search.batch import Batch, Screened, evaluate
from proofkv_verify.search.samplers import random_batch, space_of
from proofkv_verify.verdict import Refuted

# A claim refuses a structure that it is not about, or reads an optional field that is not there.
_STRUCTURE = (ValueError, IndexError, KeyError, AttributeError)
_PROBES = 24


def refuted(claim: Claim, instance: Instance) -> bool:
    """Says whether the checker refutes the claim on this instance; a structure that the claim refuses does not."""
    try:
        return isinstance(check_claim(claim, instance).verdict, Refuted)
    except _STRUCTURE:
        return False


class Screen:
    """Evaluates batches of one claim after finding out, on small samples, how the claim can be evaluated.

    Attributes:
        forms: forms of the data in which the claim finds the fields that it reads.
        vectorised: False if the claim branches on scalars, so that each case is evaluated alone.
        note: what to tell the user about that.
    """

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self.vectorised = True
        self.note = ""
        errors: dict[str, Exception] = {}
        for form in space_of(claim.kind).forms:
            error = self._probe(form)
            if error is not None:
                errors[form] = error
        self.forms = tuple(form for form in space_of(claim.kind).forms if form not in errors)
        if not self.forms:
            first = next(iter(errors.values()))
            raise InvalidInputError(claim.name, "a claim that can be evaluated", repr(first)) from first

    def evaluate(self, batch: Batch) -> Screened | None:
        """Float64 values of the batch; None if the claim refuses its structure. For a vectorised claim only."""
        try:
            return evaluate(self._claim, batch)
        except (*_STRUCTURE, ZeroDivisionError):
            return None

    def _probe(self, form: str) -> Exception | None:
        """The error that every sample of a form ends in, if all do."""
        rng = Random(0)
        found: Exception | None = None
        for _ in range(_PROBES):
            _, batch = random_batch(space_of(self._claim.kind), form, rng, batch=1)
            found = self._attempt(batch)
            if found is None:
                return None
        return found

    def _attempt(self, batch: Batch) -> Exception | None:
        try:
            if self.vectorised:
                evaluate(self._claim, batch)
            else:
                check_claim(self._claim, batch.instance(0))
        except TypeError as error:
            if not self.vectorised:
                return error
            self.vectorised = False
            self.note = f"evaluated case by case, not in batches: {error}"
            return self._attempt(batch)
        except Exception as error:
            return error
        return None

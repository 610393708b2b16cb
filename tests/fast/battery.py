"""The one test of a fast path: its float is not below the reference value of its formula, compared exactly."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import torch
from torch import Tensor

from proofkv_verify.ball import BallMath, Real, precision
from proofkv_verify.bounds.registry import BOUNDS
from proofkv_verify.exact import lift_float, lift_tensor, lift_vector
from proofkv_verify.fast.softmax_tv_cell_upper import softmax_tv_cell_upper
from proofkv_verify.fast.softmax_tv_eform_upper import softmax_tv_eform_upper
from proofkv_verify.fast.softmax_tv_hinge_upper import softmax_tv_hinge_upper
from proofkv_verify.fast.softmax_tv_histogram_upper import softmax_tv_histogram_upper
from proofkv_verify.fast.softmax_tv_mean_upper import softmax_tv_mean_upper
from proofkv_verify.fast.softmax_tv_moment_upper import softmax_tv_moment_upper
from proofkv_verify.fast.softmax_tv_odds_upper import softmax_tv_odds_upper
from proofkv_verify.fast.softmax_tv_optimum import softmax_tv_optimum
from proofkv_verify.fast.softmax_tv_overlap_upper import softmax_tv_overlap_upper
from proofkv_verify.kinds import Instance, view
from proofkv_verify.reference.registry import kind_named
from tests.fast.cases import CELL_EDGES, HINGE_KAPPAS, Row, bin_edges, cell_mu, corner_rows

SPLITS = 12  # fewer than the default: these rows have few tokens, and each is a call of its own
BITS = (160, 400, 2600)
MATH = BallMath()
Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class TvBound:
    """A TV bound with the arguments that make both paths mean the same formula on a row.

    `fast(s, c, mask, **options(row))` gives the upper end; `options` are passed to the reference by name as well.
    """

    slug: str
    fast: Callable[..., Tensor]
    options: Callable[[Row], dict[str, tuple[float, ...]]] = lambda row: {}
    streaming: bool = False

    @property
    def zero_at_zero(self) -> bool:
        """Given bins and cells have a value of their own where every radius is 0."""
        return not self.options(corner_rows(torch.float32)[0]).keys() & {"bin_edges", "cell_edges"}


def _bins(row: Row) -> dict[str, tuple[float, ...]]:
    return {"bin_edges": bin_edges(row)}


def _cells(row: Row) -> dict[str, tuple[float, ...]]:
    return {"cell_edges": CELL_EDGES, "cell_mu": cell_mu(row)}


TV_BOUNDS = (
    TvBound("softmax_tv_eform_upper", softmax_tv_eform_upper, streaming=True),
    TvBound("softmax_tv_odds_upper", softmax_tv_odds_upper, streaming=True),
    TvBound("softmax_tv_mean_upper", softmax_tv_mean_upper, streaming=True),
    TvBound("softmax_tv_overlap_upper", softmax_tv_overlap_upper, streaming=True),
    TvBound("softmax_tv_hinge_upper", softmax_tv_hinge_upper, lambda row: {"kappas": HINGE_KAPPAS}, streaming=True),
    TvBound("softmax_tv_histogram_upper", partial(softmax_tv_histogram_upper, splits=SPLITS), _bins),
    TvBound("softmax_tv_cell_upper", softmax_tv_cell_upper, _cells),
    TvBound(
        "softmax_tv_moment_upper", softmax_tv_moment_upper, lambda row: {"bin_edges": bin_edges(row)} | _cells(row)
    ),
    TvBound("softmax_tv_optimum", lambda s, c, mask=None: softmax_tv_optimum(s, c, mask, splits=SPLITS)[1]),
)
TV_EXACT = TvBound("softmax_tv_exact", softmax_tv_optimum)
"""The maximum over all subsets, for its reference value."""
TV_IDS = tuple(bound.slug for bound in TV_BOUNDS)


def reference_ends(slug: str, kind: str, fields: dict[str, Any], params: dict[str, Any] | None = None) -> Ends:
    """Rational ends of the reference value; more bits are taken until they are close."""
    for bits in BITS:
        with precision(bits):
            known = view(Instance(kind, fields, params or {}), kind_named(kind), MATH, hidden=False)
            value = Real(BOUNDS[slug](known, MATH))
            low, high = value.lower(), value.upper()
        if low is not None and high is not None and high - low <= abs(high) / 2**60:
            return low, high
    assert low is not None, f"{slug}: the reference is unbounded on {fields}"
    assert high is not None, f"{slug}: the reference is unbounded on {fields}"
    return low, high  # a number near 0 that is 0


def tv_reference(bound: TvBound, row: Row) -> Ends:
    """The reference value of the formula on the exact numbers of a row."""
    fields: dict[str, Any] = {"logits_hat": exact(row.logits), "logit_radii": exact(row.radii)}
    fields |= {name: tuple(lift_float(x) for x in values) for name, values in bound.options(row).items()}
    return reference_ends(bound.slug, "softmax_tv", fields)


def fast_value(bound: TvBound, row: Row) -> float:
    """The float the fast path returns for a row alone."""
    return scalar(bound.fast(*row.batched, **bound.options(row)))


def scalar(tensor: Tensor) -> float:
    """The number of a tensor with one element."""
    return float(tensor.double().item())


def exact(tensor: Tensor) -> tuple[Any, ...]:
    """A tensor as nested tuples of rationals."""
    return tuple(lift_vector(tensor)) if tensor.ndim == 1 else _nested(lift_tensor(tensor).nested())


def _nested(value: Any) -> Any:
    return tuple(_nested(entry) for entry in value) if isinstance(value, list) else value


def understated(claimed: float, reference: Ends) -> bool:
    """Whether the claimed number is shown to be below the reference value; NaN understates."""
    return math.isnan(claimed) or (claimed < math.inf and Fraction(claimed) < reference[0])


def assert_not_below(claimed: float, reference: Ends, what: str) -> None:
    """claimed >= lower end of the reference, exactly."""
    assert not understated(claimed, reference), (
        f"{what}: fast {claimed!r} = {claimed.hex()} is below the reference {float(reference[0])!r}"
        f" by {float(reference[0] - Fraction(claimed)) if not math.isnan(claimed) else 'nan'}"
    )


def violations(bound: TvBound, rows: Iterable[Row]) -> list[str]:
    """Names of the rows on which the fast path understates."""
    return [row.name for row in rows if understated(fast_value(bound, row), tv_reference(bound, row))]

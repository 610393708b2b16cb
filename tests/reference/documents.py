"""Instances as a stranger might send them: right or wrong shapes, broken premises, parameters of any allowed type."""

from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from proofkv_verify.kinds import Exact, Field, Instance
from proofkv_verify.reference.registry import KINDS
from tests.quality.witnesses import exact

NUMBERS = st.sampled_from([Fraction(n) for n in ("0", "1", "-1", "2", "1/2", "5")])
PARAMS = st.recursive(
    st.one_of(st.integers(-2, 3), st.booleans(), st.sampled_from(["", "nan", "0"])),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)


FORMS = [
    {"weights", "ratios", "tilts"},
    {"weights", "lower", "upper", "tilts"},
    {"logits_hat", "logit_radii", "logits"},
]


def shaped(field: Field, sizes: dict[str, int]) -> st.SearchStrategy[Exact]:
    strategy: st.SearchStrategy[Any] = NUMBERS
    for axis in reversed(field.axes):
        strategy = st.lists(strategy, min_size=sizes[axis], max_size=sizes[axis])
    return strategy.map(exact)


@st.composite
def documents(draw: st.DrawFn) -> Instance:
    """Fields of one kind with axes of 0 to 2 entries, some fields left out, parameters of any allowed type."""
    kind = KINDS[draw(st.sampled_from(sorted(KINDS)))]
    axes = sorted({axis for field in kind.fields for axis in field.axes})
    sizes = {axis: draw(st.integers(0, 2)) for axis in axes}
    left_out = set().union(*FORMS) - draw(st.sampled_from([*FORMS, *FORMS, *FORMS, set().union(*FORMS)]))
    chosen = [f for f in kind.fields if f.name not in left_out and (not f.optional or draw(st.integers(0, 3)))]
    fields = {f.name: draw(shaped(f, sizes)) for f in chosen}
    params = {name: draw(st.one_of(st.just(default), PARAMS)) for name, default in kind.params.items()}
    return Instance(kind.name, fields, params)

"""The one door for floats: they enter as exact rationals and leave as exact floats or exact text.

Tensors are read by duck typing from their raw bytes and decoded by our own rules; neither torch
nor numpy is imported and neither converts a value.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from proofkv_verify.codec import (
    OverflowPolicy,
    Rounding,
    decode,
    encode,
    floor_log2,
    policies,
    round_down,
    round_to,
    round_up,
    spacing,
)
from proofkv_verify.errors import InvalidInputError, ShapeError
from proofkv_verify.formats import (
    BF16,
    FLOAT_FORMATS,
    FORMATS,
    FP4_E2M1,
    FP8_E4M3FN,
    FP8_E4M3FNUZ,
    FP8_E5M2,
    FP16,
    FP32,
    FP64,
    INT4,
    INT4_SYMMETRIC,
    INT8,
    INT8_SYMMETRIC,
    INT_FORMATS,
    UINT4,
    UINT8,
    Extended,
    FloatFormat,
    Format,
    IntFormat,
    NonFinite,
)
from proofkv_verify.numerals import brief_text, format_exact, parse_exact

__all__ = [
    "BF16",
    "FLOAT_FORMATS",
    "FORMATS",
    "FP4_E2M1",
    "FP8_E4M3FN",
    "FP8_E4M3FNUZ",
    "FP8_E5M2",
    "FP16",
    "FP32",
    "FP64",
    "INT4",
    "INT4_SYMMETRIC",
    "INT8",
    "INT8_SYMMETRIC",
    "INT_FORMATS",
    "UINT4",
    "UINT8",
    "ExactTensor",
    "Extended",
    "FloatFormat",
    "Format",
    "IntFormat",
    "NonFinite",
    "OverflowPolicy",
    "Rounding",
    "decode",
    "encode",
    "floor_log2",
    "format_exact",
    "lift_codes",
    "lift_extended",
    "lift_float",
    "lift_matrix",
    "lift_tensor",
    "lift_vector",
    "parse_exact",
    "policies",
    "round_down",
    "round_to",
    "round_up",
    "spacing",
    "to_float",
]

_PACKED = "float4_e2m1fn_x2"
_DTYPES: dict[str, Format] = {
    "float64": FP64,
    "float32": FP32,
    "float16": FP16,
    "bfloat16": BF16,
    "float8_e4m3fn": FP8_E4M3FN,
    "float8_e4m3fnuz": FP8_E4M3FNUZ,
    "float8_e5m2": FP8_E5M2,
    "float4_e2m1fn": FP4_E2M1,
    _PACKED: FP4_E2M1,
    "int8": INT8,
    "uint8": UINT8,
    "int4": INT4,
    "uint4": UINT4,
}


@dataclass(frozen=True, slots=True)
class ExactTensor:
    """A tensor of exact numbers: a shape and the values in row-major order."""

    shape: tuple[int, ...]
    values: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        """Checks that the number of values is the product of the shape."""
        if math.prod(self.shape) != len(self.values):
            raise ShapeError("values", f"{math.prod(self.shape)} values", len(self.values))

    def __getitem__(self, index: tuple[int, ...] | int) -> ExactTensor:
        """The sub-tensor at a leading index, or the tuple of leading indices (none negative)."""
        leading = index if isinstance(index, tuple) else (index,)
        start, size, shape = 0, len(self.values), self.shape
        for axis, i in enumerate(leading):
            if axis >= len(self.shape) or not 0 <= i < self.shape[axis]:
                raise ShapeError("index", f"an index into shape {self.shape}", leading)
            size //= self.shape[axis]
            start, shape = start + i * size, shape[1:]
        return ExactTensor(shape, self.values[start : start + size])

    def nested(self) -> Any:
        """The same numbers as nested lists, one level an axis (a plain Fraction for rank 0)."""
        if not self.shape:
            return self.values[0]
        return [self[i].nested() for i in range(self.shape[0])]

    def vector(self, name: str = "tensor") -> list[Fraction]:
        """The numbers of a rank-1 tensor as a list."""
        _require_rank(self.shape, 1, name)
        return list(self.values)

    def matrix(self, name: str = "tensor") -> list[list[Fraction]]:
        """The rows of a rank-2 tensor as lists."""
        _require_rank(self.shape, 2, name)
        return [self[i].vector() for i in range(self.shape[0])]


def lift_extended(x: object, name: str = "value") -> Extended:
    """The exact value of a Python float or int; infinities and NaN stay apart as `NonFinite`.

    Args:
        x: a float (numpy.float64 is one) or an int; both zeros give 0. Other numpy and torch
            scalars go through `lift_tensor`.
        name: how messages call it.

    Raises:
        InvalidInputError: x is neither (a bool is not).
    """
    if isinstance(x, float):
        # From the bits: float arithmetic loses subnormals while a library has set flush-to-zero.
        return decode(int.from_bytes(struct.pack(">d", x), "big"), FP64)
    if isinstance(x, int) and not isinstance(x, bool):
        return Fraction(x)
    raise InvalidInputError(name, "a float", f"{type(x).__name__} {x!r}"[:80])


def lift_float(x: float, name: str = "value") -> Fraction:
    """The exact value of a finite float: its binary value, never its decimal text.

    Raises:
        InvalidInputError: x is NaN or infinite, or no float; the message has `name`.
    """
    return _require_finite(lift_extended(x, name), name)


def lift_codes(codes: Iterable[int], fmt: Format, name: str = "codes") -> list[Fraction]:
    """The exact values of raw codes; the position of a NaN or infinity is named.

    Raises:
        InvalidInputError: a code is out of range, NaN or infinite.
    """
    return [_require_finite(decode(c, fmt), f"{name}[{i}]") for i, c in enumerate(codes)]


def lift_tensor(tensor: Any, name: str = "tensor") -> ExactTensor:
    """The exact values of a torch tensor or numpy array, read from its raw bytes.

    Args:
        tensor: any rank and strides, any device that copies to the CPU; float64, float32, float16,
            bfloat16, float8 (e4m3fn, e4m3fnuz, e5m2), int8, uint8, the ml_dtypes kinds
            float4_e2m1fn, int4 and uint4, or torch's float4_e2m1fn_x2 (two numbers a byte, low
            half first: the last axis doubles).
        name: how messages call it.

    Returns:
        Shape and exact values.

    Raises:
        InvalidInputError: another type or dtype, or a NaN or infinity (its index is named).
    """
    is_torch = hasattr(tensor, "untyped_storage")
    # A masked array would hand out its fill value as data.
    if not is_torch and (not hasattr(tensor, "tobytes") or hasattr(tensor, "mask")):
        raise InvalidInputError(name, "a torch tensor or a numpy array", type(tensor).__name__)
    dtype = str(tensor.dtype).removeprefix("torch.") if is_torch else str(tensor.dtype.name)
    fmt = _DTYPES.get(dtype)
    if fmt is None:
        raise InvalidInputError(name, f"a dtype among {', '.join(_DTYPES)}", dtype)
    raw = _torch_bytes(tensor) if is_torch else _numpy_bytes(tensor)
    shape = tuple(int(n) for n in tensor.shape)
    if dtype == _PACKED:
        raw = bytes(half for byte in raw for half in (byte & 15, byte >> 4))
        shape = (*shape[:-1], 2 * math.prod(shape[-1:]))
    return ExactTensor(shape, tuple(_lift_raw(raw, fmt, shape, name)))


def lift_vector(tensor: Any, name: str = "tensor") -> list[Fraction]:
    """The exact values of a rank-1 tensor or array as a list; see `lift_tensor`."""
    return lift_tensor(tensor, name).vector(name)


def lift_matrix(tensor: Any, name: str = "tensor") -> list[list[Fraction]]:
    """The exact rows of a rank-2 tensor or array as lists; see `lift_tensor`."""
    return lift_tensor(tensor, name).matrix(name)


def to_float(value: Extended) -> float:
    """The binary64 number equal to the value; nothing is rounded.

    Args:
        value: a binary64 number (round first: `round_up(q, FP64)`), or an infinity.

    Raises:
        InvalidInputError: the value is NaN or no binary64 number.
    """
    if isinstance(value, NonFinite):
        if value is NonFinite.NAN:
            raise InvalidInputError("value", "a number", "nan")
        return math.inf if value is NonFinite.POS_INF else -math.inf
    if round_to(value, FP64, "toward_zero") != value:
        raise InvalidInputError("value", "a binary64 number", brief_text(value))
    code = encode(value, FP64, overflow="error")
    return float(struct.unpack(">d", code.to_bytes(8, "big"))[0])


def _require_finite(value: Extended, name: str) -> Fraction:
    if isinstance(value, NonFinite):
        raise InvalidInputError(name, "a finite number", value.value)
    return value


def _require_rank(shape: tuple[int, ...], rank: int, name: str) -> None:
    if len(shape) != rank:
        raise ShapeError(name, f"{rank} dimensions", f"{len(shape)} (shape {shape})")


def _torch_bytes(tensor: Any) -> bytes:
    # The copy resolves odd strides and lazily negated views, whose bytes are those of their base.
    flat = tensor.detach().cpu().reshape(-1)
    plain = flat.new_empty(flat.shape).copy_(flat)
    return bytes(plain.view(plain[:0].byte().dtype).tolist())


def _numpy_bytes(array: Any) -> bytes:
    native = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return bytes(native.tobytes())


def _lift_raw(raw: bytes, fmt: Format, shape: tuple[int, ...], name: str) -> Iterator[Fraction]:
    width = max(fmt.bits // 8, 1)
    used = (1 << fmt.bits) - 1
    for i in range(0, len(raw), width):
        value = decode(int.from_bytes(raw[i : i + width], sys.byteorder) & used, fmt)
        if isinstance(value, NonFinite):
            place = _index(i // width, shape)
            raise InvalidInputError(f"{name}{place}", "a finite number", value.value)
        yield value


def _index(flat: int, shape: tuple[int, ...]) -> list[int]:
    index: list[int] = []
    for size in reversed(shape):
        flat, i = divmod(flat, size)
        index.insert(0, i)
    return index

"""Tensors on which wrong radii die, and the schemes they are tried on."""

import pytest
import torch

DTYPES = (torch.float16, torch.bfloat16, torch.float32)
SCALES = ("fp32", "fp16", "bf16")
BATCH, HEADS, TOKENS, CHANNELS = 2, 2, 40, 8
SHAPE = (BATCH, HEADS, TOKENS, CHANNELS)
# Options that make every built-in scheme code most of 40 tokens.
SMALL = {
    "identity": "",
    "int8": "",
    "int8_channel": "tokens=16",
    "int8_block": "tokens=8,group=4",
    "int4_kivi": "group=8,residual=8",
    "int2_kivi": "group=4,residual=8",
    "fp8_e4m3fn": "",
    "fp8_e5m2": "",
}


def scheme_texts():
    """Every built-in scheme with every scale dtype and scale rounding, symmetric or not, and restored in fp16."""
    yield "identity"
    for name, options in SMALL.items():
        if name == "identity":
            continue
        for scale in SCALES:
            for rounding in ("up", "nearest"):
                more = f"{options},scale={scale},scale_rounding={rounding}".lstrip(",")
                yield f"{name}:{more}"
                if name.startswith("int8"):
                    yield f"{name}:{more},symmetric=no"
        yield f"{name}:{options},restored=fp16".replace(":,", ":")
        yield f"{name}:{options},restored=bf16".replace(":,", ":")
    for name in ("fp8_e4m3fn", "fp8_e5m2"):
        yield f"{name}:key_scale=0.5,value_scale=2"
        yield f"{name}:key_scale=0.5/0.0625,value_scale=2/0.25,scale=bf16"


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def normal(dtype, size=SHAPE, seed=0, magnitude=1.0):
    return (torch.randn(size, generator=seeded(seed), dtype=torch.float64) * magnitude).to(dtype)


def adversarial_tensors(dtype):
    """Named finite tensors `SHAPE` of a dtype, each holding a corner of some quantizer."""
    info = torch.finfo(dtype)
    wave = torch.sin(torch.arange(BATCH * HEADS * TOKENS * CHANNELS, dtype=torch.float64)).reshape(SHAPE)
    last = torch.zeros(SHAPE, dtype=torch.float64)
    last[..., -1, -1] = 1
    near_constant = torch.full(SHAPE, 100.0, dtype=torch.float64)
    near_constant[:, :, 3, 2] = 100 * (1 + info.eps)
    halves = (wave * 127).trunc() + torch.tensor([0.5, -0.5, 1.5, 0, 126.5, 0.9, -0.9, 2.5], dtype=torch.float64)
    halves[..., 3] = 127
    powers = wave * torch.exp2((torch.arange(TOKENS) % 30 - 15).double())[:, None]
    # Row M19 of the attention-meter notes: the stored fp16 step is 1.0078125, the exact one 1.0083008.
    awkward = (wave * 126.4999).clone()
    awkward[..., 0] = 128.0542
    tensors = {
        "zero": torch.zeros(SHAPE, dtype=torch.float64),
        "minus zero": -torch.zeros(SHAPE, dtype=torch.float64),
        "constant": torch.full(SHAPE, 100.0, dtype=torch.float64),
        "constant 1/3": torch.full(SHAPE, -1 / 3, dtype=torch.float64),
        "near constant": near_constant,
        "wave": wave,
        "one": last,
        "halves": halves.clamp(-127, 127),
        "powers": powers,
        "awkward scale": awkward,
        "largest": wave.sign() * info.max,
        "up to largest": wave * info.max,
        "largest and least": torch.where(wave > 0.5, info.max, info.smallest_normal),
        "subnormal": wave * info.smallest_normal,
        "least subnormal": wave.sign() * info.smallest_normal * info.eps,
        "far from zero": 1000 + wave,
        "tiny": wave * 1e-6,
        "outlier channel": wave * torch.tensor([1.0] * (CHANNELS - 1) + [3000.0], dtype=torch.float64),
    }
    for name, tensor in tensors.items():
        cast = tensor.clamp(-info.max, info.max).to(dtype)
        assert bool(torch.isfinite(cast).all())
        yield name, cast


def adversarial_batch(dtype):
    """All of `adversarial_tensors` as one batch, and the names of its rows."""
    named = list(adversarial_tensors(dtype))
    return [name for name, _ in named for _ in range(BATCH)], torch.cat([tensor for _, tensor in named])


@pytest.fixture
def flush_to_zero():
    """The CPU flushes subnormals while the test runs."""
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor cannot flush subnormals")
    yield
    torch.set_flush_denormal(False)

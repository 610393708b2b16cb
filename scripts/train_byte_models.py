"""Trains the byte-level models of the package again: Llama-style, 128 bytes of vocabulary, 2, 4 or 6 layers.

    python scripts/train_byte_models.py --layers 4 --output proofkv_verify/data/byte_llama_4.safetensors
    python scripts/train_byte_models.py --windows proofkv_verify/data/byte_held_out.txt

The text is the Python standard library of the running interpreter (PSF licence): it is at hand on every machine that
can run the package, its licence allows this use, and code has both the sharp and the open predictions that a test of
decoding needs. Tests, the IDLE editor, lib2to3 and site-packages are left out, and files with bytes above 127. One
file in 25, chosen by a digest of its path, is held out. Seeded and single-threaded; another interpreter version has
other text, and another processor rounds some sums differently, so a retrained model is alike but not bit-equal.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import platform
import sysconfig
import time
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as nnf

DIM, HEADS, KV_HEADS, HEAD_DIM, HIDDEN, VOCAB = 128, 4, 2, 32, 352, 128
THETA, EPS, LENGTH, BATCH = 10000.0, 1e-5, 512, 8
LEFT_OUT = {"test", "tests", "idlelib", "lib2to3", "site-packages", "__pycache__"}


def read_corpus() -> tuple[bytes, bytes, int, int]:
    """The text to train on and the text held out, and how many files each has."""
    root = Path(sysconfig.get_paths()["stdlib"])
    train, held = [], []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        text = path.read_bytes()
        if LEFT_OUT.isdisjoint(name.parts) and text and max(text) < VOCAB:
            digest = hashlib.sha256(name.as_posix().encode()).digest()
            (held if int.from_bytes(digest[:4], "big") % 25 == 0 else train).append(text)
    return b"\n".join(train), b"\n".join(held), len(train), len(held)


class Block(nn.Module):
    """One layer: RMSNorm, grouped attention with half-split RoPE, RMSNorm, SwiGLU."""

    def __init__(self, layers: int, spread: float | None) -> None:
        super().__init__()
        self.gain_attention, self.gain_mlp = (nn.Parameter(torch.ones(DIM)) for _ in range(2))
        shapes = {
            "wq": (HEADS * HEAD_DIM, DIM), "wk": (KV_HEADS * HEAD_DIM, DIM), "wv": (KV_HEADS * HEAD_DIM, DIM),
            "wo": (DIM, HEADS * HEAD_DIM), "w1": (HIDDEN, DIM), "w3": (HIDDEN, DIM), "w2": (DIM, HIDDEN),
        }  # fmt: skip
        for name, shape in shapes.items():
            scale = 1 / math.sqrt(2 * layers) if name in ("wo", "w2") else 1.0
            setattr(self, name, nn.Parameter(torch.randn(shape) * scale * (spread or shape[1] ** -0.5)))

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """The residual stream `[B, T, 128]` after this layer."""
        h = nnf.rms_norm(x, (DIM,), self.gain_attention, EPS)
        q, k, v = (self._heads(h @ w.T) for w in (self.wq, self.wk, self.wv))
        q, k = q * cos + _half_turn(q) * sin, k * cos + _half_turn(k) * sin
        o = nnf.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + o.transpose(1, 2).flatten(2) @ self.wo.T
        h = nnf.rms_norm(x, (DIM,), self.gain_mlp, EPS)
        return x + (nnf.silu(h @ self.w1.T) * (h @ self.w3.T)) @ self.w2.T

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (-1, HEAD_DIM)).transpose(1, 2)


class Model(nn.Module):
    """The byte model with an untied head; `spread` is the deviation of the initial weights, 1/sqrt(inputs) if None."""

    def __init__(self, layers: int, spread: float | None = None) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(VOCAB, DIM) * (spread or 1.0))
        self.layers = nn.ModuleList(Block(layers, spread) for _ in range(layers))
        self.gain_final = nn.Parameter(torch.ones(DIM))
        self.head = nn.Parameter(torch.randn(VOCAB, DIM) * 0.02)
        angles = torch.outer(torch.arange(LENGTH), THETA ** (-torch.arange(0, HEAD_DIM, 2) / HEAD_DIM))
        self.angles = torch.cat([angles, angles], 1)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits `[B, T, 128]`."""
        angles = self.angles[: ids.shape[1]]
        x, cos, sin = self.embedding[ids], angles.cos(), angles.sin()
        for layer in self.layers:
            x = layer(x, cos, sin)
        return nnf.rms_norm(x, (DIM,), self.gain_final, EPS) @ self.head.T


def _half_turn(x: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


def train(model: Model, text: Tensor, steps: int, peak: float, decay: float) -> None:
    """AdamW with a warm-up of 50 steps and a cosine to a twentieth of the peak rate."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak, betas=(0.9, 0.95), weight_decay=decay)
    start = time.process_time()
    for step in range(steps):
        cosine = 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / steps))
        optimizer.param_groups[0]["lr"] = peak * min(1.0, (step + 1) / 50) * cosine
        at = torch.randint(len(text) - LENGTH - 1, (BATCH,))
        rows = text[at[:, None] + torch.arange(LENGTH + 1)].long()
        loss = nnf.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step} loss {loss.item():.3f} cpu {time.process_time() - start:.0f} s", flush=True)


@torch.no_grad()
def held_out_loss(model: Model, text: Tensor) -> float:
    """Mean nats per byte over consecutive windows of 512 of the held-out text (each window starts cold)."""
    rows = text[: (len(text) - 1) // LENGTH * LENGTH + 1].long()
    total, windows = 0.0, (len(rows) - 1) // LENGTH
    for w in range(windows):
        row = rows[w * LENGTH : (w + 1) * LENGTH + 1]
        total += float(nnf.cross_entropy(model(row[None, :-1])[0], row[1:]))
    return total / windows


def write_windows(held: bytes, path: Path, count: int = 48, size: int = 400) -> None:
    """Writes evenly spaced windows of the held-out text, one after the other, for tests and benchmarks."""
    stride = (len(held) - size) // (count - 1)
    path.write_bytes(b"".join(held[w * stride : w * stride + size] for w in range(count)))


def save(model: Model, path: Path, facts: dict[str, object]) -> None:
    """Writes bfloat16 weights, which float64 holds exactly, with the architecture and the recipe as metadata."""
    config = {
        "architecture": "llama", "num_layers": len(model.layers), "hidden_size": DIM, "num_heads": HEADS,
        "num_kv_heads": KV_HEADS, "head_dim": HEAD_DIM, "intermediate_size": HIDDEN, "vocab_size": VOCAB,
        "rope_theta": "10000", "rms_norm_eps": "0.00001", "context": LENGTH,
    }  # fmt: skip
    tensors = {name: value.detach().bfloat16().contiguous() for name, value in model.named_parameters()}
    metadata = {"format": "proofkv-verify/model/1", "config": json.dumps(config), "recipe": json.dumps(facts)}
    save_file(tensors, path, metadata)


def main() -> None:
    """Trains one model and writes it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, choices=(2, 4, 6), default=4)
    parser.add_argument("--output", type=Path, help="train, and write the model here")
    parser.add_argument("--windows", type=Path, help="write windows of the held-out text here")
    parser.add_argument("--steps", type=int, default=1400)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=0.1)
    parser.add_argument("--spread", type=float, help="deviation of the initial weights; 1/sqrt(inputs) without it")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    text, held, files, held_files = read_corpus()
    if args.windows:
        write_windows(held, args.windows)
    if not args.output:
        return
    model = Model(args.layers, args.spread)
    train(model, torch.frombuffer(bytearray(text), dtype=torch.uint8), args.steps, args.rate, args.decay)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.bfloat16())
    loss = held_out_loss(model, torch.frombuffer(bytearray(held), dtype=torch.uint8))
    facts = {
        "text": f"Python {platform.python_version()} standard library, PSF licence", "train_files": files,
        "train_bytes": len(text), "held_out_files": held_files, "held_out_bytes": len(held),
        "held_out_nats_per_byte": round(loss, 4), "steps": args.steps, "batch": BATCH, "length": LENGTH,
        "peak_rate": args.rate, "weight_decay": args.decay, "initial_spread": args.spread, "seed": args.seed, "torch":
        torch.__version__,
    }  # fmt: skip
    save(model, args.output, facts)
    print(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()

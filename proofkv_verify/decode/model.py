"""The float64 forward pass of a Llama-style model, one token at a time, with everything that a certificate reads.

Weights are held in float64 with each RMSNorm gain folded into the next matrix; the products of two bfloat16, float16
or float32 numbers are exact there, so folding rounds nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor
from torch.nn import functional as nnf

from proofkv_verify.decode.config import ModelConfig, parse_config
from proofkv_verify.decode.defaults import DEFAULT_MODEL, MODELS
from proofkv_verify.errors import InvalidInputError, ShapeError

F64 = torch.float64


@dataclass(frozen=True)
class Layer:
    """Float64 weights: wq `[H, D, d]`, wk and wv `[G, D, d]`, wo `[H, d, D]`, w1 and w3 `[f, d]`, w2 `[d, f]`."""

    wq: Tensor
    wk: Tensor
    wv: Tensor
    wo: Tensor
    w1: Tensor
    w3: Tensor
    w2: Tensor

    @cached_property
    def lengths(self) -> dict[str, float]:
        """The Frobenius norm of each of them by name."""
        return {name: float(getattr(self, name).norm()) for name in ("wq", "wk", "wv", "wo", "w1", "w3", "w2")}


@dataclass(frozen=True)
class Model:
    """A model ready to run: folded float64 weights, its configuration, name and digest of the file."""

    config: ModelConfig
    layers: tuple[Layer, ...]
    embedding: Tensor
    head: Tensor
    name: str
    digest: str

    @cached_property
    def heads_to_kv(self) -> Tensor:
        """The KV head of each query head, int64 `[H]`."""
        return torch.arange(self.config.num_heads) // self.config.group_size

    @cached_property
    def frequencies(self) -> Tensor:
        """Angle per position of each rotary plane, float64 `[D/2]`."""
        half = torch.arange(0, self.config.head_dim, 2, dtype=F64)
        return torch.pow(torch.tensor(float(self.config.rope_theta), dtype=F64), -half / self.config.head_dim)


@dataclass(frozen=True, slots=True)
class Cache:
    """Keys (after RoPE) and values of the earlier tokens of one layer, float64 `[G, n, D]` each."""

    keys: Tensor
    values: Tensor

    def extended(self, keys: Tensor, values: Tensor) -> Cache:
        """This cache with more rows `[G, m, D]` behind it."""
        return Cache(torch.cat([self.keys, keys], 1), torch.cat([self.values, values], 1))


@dataclass(frozen=True, slots=True)
class LayerTrace:
    """What one layer computed for the token: the attention half, then the MLP half.

    Attributes:
        x, rho, h: residual stream `[d]`, its RMS (a float), the normalised input.
        wq, wk: query and key weights turned to the token's position `[H, D, d]`, `[G, D, d]`.
        q: queries `[H, D]`; keys, values: all rows read, the token's own last, `[G, n + 1, D]`.
        p: weights `[H, n + 1]`; o: head outputs `[H, D]`.
        mid, rho2, h2: residual stream between the halves, its RMS, the normalised input of the MLP.
        u, g: gate and up projections `[f]`.
    """

    x: Tensor
    rho: float
    h: Tensor
    wq: Tensor
    wk: Tensor
    q: Tensor
    keys: Tensor
    values: Tensor
    p: Tensor
    o: Tensor
    mid: Tensor
    rho2: float
    h2: Tensor
    u: Tensor
    g: Tensor


@dataclass(frozen=True, slots=True)
class Trace:
    """One forward step: what each layer computed, the last residual `[d]` and the scores `head @ x` `[V]`.

    Scores are logits times the RMS of the last residual, a positive factor that cannot change their order.
    """

    layers: tuple[LayerTrace, ...]
    final: Tensor
    scores: Tensor

    @property
    def token(self) -> int:
        """The argmax of the scores, ties by the lowest id."""
        return int(self.scores.argmax())


def load_model(name: str | Path = DEFAULT_MODEL) -> Model:
    """A shipped model by name, or a model file of the format that `scripts/train_byte_models.py` writes.

    Raises:
        InvalidInputError: no such model or file, another format or architecture, a tensor missing.
        ShapeError: a tensor of another shape.
    """
    path = MODELS.get(str(name), Path(name))
    if not path.is_file():
        raise InvalidInputError("model", f"one of {', '.join(MODELS)} or a safetensors file", str(name))
    try:
        with safe_open(path, "pt") as file:
            config = parse_config(file.metadata())
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118  (not a mapping)
    except SafetensorError as error:
        raise InvalidInputError("model file", "a safetensors file", f"{path}: {error}") from error
    return build_model(config, tensors, str(name), hashlib.sha256(path.read_bytes()).hexdigest())


def build_model(config: ModelConfig, tensors: dict[str, Tensor], name: str, digest: str = "") -> Model:
    """A model from tensors named as in `ModelConfig.shapes`, of any float dtype.

    Raises:
        InvalidInputError: a tensor is missing, holds a NaN or an infinity, or a number that float32 cannot hold.
        ShapeError: a tensor has another shape.
    """
    for key, shape in config.shapes().items():
        if key not in tensors:
            raise InvalidInputError("model file", f"a tensor {key}", "none")
        if tuple(tensors[key].shape) != shape:
            raise ShapeError(f"tensor {key}", f"shape {list(shape)}", list(tensors[key].shape))
        if not tensors[key].isfinite().all():
            raise InvalidInputError(f"tensor {key}", "finite numbers", "a NaN or an infinity")
        if not torch.equal(tensors[key].float().to(F64), tensors[key].to(F64)):
            raise InvalidInputError(
                f"tensor {key}", "numbers that float32 holds, so that folding rounds nothing", "others"
            )
    exact = {key: tensors[key].to(F64) for key in config.shapes()}
    layers = tuple(_fold(config, exact, f"layers.{i}.") for i in range(config.num_layers))
    return Model(config, layers, exact["embedding"], exact["head"] * exact["gain_final"], name, digest)


def _fold(config: ModelConfig, tensors: dict[str, Tensor], prefix: str) -> Layer:
    w = SimpleNamespace(**{k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)})
    q, kv = (config.num_heads, config.head_dim, -1), (config.num_kv_heads, config.head_dim, -1)
    return Layer(
        wq=(w.wq * w.gain_attention).reshape(q),
        wk=(w.wk * w.gain_attention).reshape(kv),
        wv=(w.wv * w.gain_attention).reshape(kv),
        wo=w.wo.reshape(-1, config.num_heads, config.head_dim).transpose(0, 1).contiguous(),
        w1=w.w1 * w.gain_mlp,
        w3=w.w3 * w.gain_mlp,
        w2=w.w2,
    )


def check_ids(model: Model, ids: Sequence[int], new_tokens: int = 0) -> None:
    """Refuses an empty prompt, ids outside the vocabulary and more positions than the context.

    Raises:
        InvalidInputError: any of these.
    """
    if not ids:
        raise InvalidInputError("prompt", "at least one token", 0)
    for at, token in enumerate(ids):
        if not 0 <= token < model.config.vocab_size:
            raise InvalidInputError(f"prompt token {at}", f"an id below {model.config.vocab_size}", token)
    if len(ids) + new_tokens > model.config.context:
        expected = f"at most {model.config.context} positions, the context of {model.name}"
        raise InvalidInputError("prompt and new tokens", expected, len(ids) + new_tokens)


def turn(weights: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Half-split RoPE along the second last axis: rows of a weight matrix `[..., D, d]`, cos and sin `[D/2, 1]`."""
    a, b = weights.chunk(2, -2)
    return torch.cat([cos * a - sin * b, sin * a + cos * b], -2)


def _normalise(x: Tensor, eps: float) -> tuple[float, Tensor]:
    rho = (x @ x / len(x) + eps).sqrt()
    return float(rho.detach()), x / rho


def advance(model: Model, token: int, position: int, caches: Sequence[Cache]) -> Trace:
    """One forward step of a token over the earlier rows; its own key and value are not rounded in its own attention."""
    angle = (model.frequencies * position)[:, None]
    cos, sin = angle.cos(), angle.sin()
    x, traces = model.embedding[token], []
    for layer, cache in zip(model.layers, caches, strict=True):
        traces.append(trace := layer_step(model, layer, cache, x, (cos, sin)))
        x = mlp_output(layer, trace)
    return Trace(tuple(traces), x, model.head @ x)


def layer_step(model: Model, layer: Layer, cache: Cache, x: Tensor, turned: tuple[Tensor, Tensor]) -> LayerTrace:
    """One layer of one token up to the projections of its MLP."""
    config, of = model.config, model.heads_to_kv
    eps = float(config.rms_norm_eps)
    rho, h = _normalise(x, eps)
    wq, wk = turn(layer.wq, *turned), turn(layer.wk, *turned)
    q, k, v = wq @ h, wk @ h, layer.wv @ h
    keys, values = torch.cat([cache.keys, k[:, None]], 1), torch.cat([cache.values, v[:, None]], 1)
    scores = torch.einsum("hnd,hd->hn", keys[of], q) * config.head_dim**-0.5
    p = scores.softmax(-1)
    o = torch.einsum("hn,hnd->hd", p, values[of])
    mid = x + torch.einsum("hxd,hd->x", layer.wo, o)
    rho2, h2 = _normalise(mid, eps)
    return LayerTrace(x, rho, h, wq, wk, q, keys, values, p, o, mid, rho2, h2, layer.w1 @ h2, layer.w3 @ h2)


def mlp_output(layer: Layer, trace: LayerTrace) -> Tensor:
    """The residual stream after the layer."""
    return trace.mid + layer.w2 @ (nnf.silu(trace.u) * trace.g)


def prefill(model: Model, ids: Sequence[int]) -> list[Cache]:
    """Keys and values of the prompt as one parallel float64 pass computes them, each row then stored in float16.

    Raises:
        InvalidInputError: a row that float16 cannot hold.
    """
    config, of, n = model.config, model.heads_to_kv, len(ids)
    angle = torch.outer(model.frequencies, torch.arange(n, dtype=F64)).T[:, :, None]
    turned, eps, caches = (angle.cos(), angle.sin()), float(config.rms_norm_eps), []
    x = model.embedding[torch.tensor(ids)]
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    for layer in model.layers:
        h = x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
        q, k, v = (torch.einsum("gdx,tx->gtd", w, h) for w in (layer.wq, layer.wk, layer.wv))
        q, k = (turn(y[..., None], *turned)[..., 0] for y in (q, k))
        scores = (q @ k[of].mT * config.head_dim**-0.5).masked_fill(~mask, -torch.inf)
        o = scores.softmax(-1) @ v[of]
        x = x + torch.einsum("hxd,htd->tx", layer.wo, o)
        h = x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
        x = x + (nnf.silu(h @ layer.w1.T) * (h @ layer.w3.T)) @ layer.w2.T
        caches.append(Cache(stored(k), stored(v)))
    return caches


def stored(rows: Tensor) -> Tensor:
    """The rows as the full cache stores them: rounded to float16, returned in float64.

    Raises:
        InvalidInputError: a row that float16 cannot hold.
    """
    half = rows.to(torch.float16)
    if not half.isfinite().all():
        raise InvalidInputError("cache row", "numbers below 65504, the largest of float16", float(rows.abs().max()))
    return half.to(F64)

"""docs/traces.md names every field, and its example runs where transformers is installed."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch

from proofkv_verify.adapters.trace import SCHEMA, TraceMeta, load_trace

DOC = (Path(__file__).resolve().parents[2] / "docs" / "traces.md").read_text(encoding="utf-8")


def test_documentation_names_exactly_the_metadata_fields() -> None:
    table = DOC.split("| field | value |")[1].split("\n\n")[0]
    named = [name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(field.name for field in fields(TraceMeta))
    assert SCHEMA in DOC


def test_documented_example_dumps_a_valid_trace_from_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="not installed: transformers")
    code = re.search(r"```python\n(.*?)```", DOC, re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {}
    exec(code.group(1), names)
    torch.manual_seed(0)
    sizes = {"vocab_size": 97, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3}
    config = transformers.LlamaConfig(num_attention_heads=4, num_key_value_heads=2, **sizes)
    model = transformers.LlamaForCausalLM(config).eval()
    tokens = torch.randint(0, 97, (40,))
    with torch.no_grad():
        before = model(tokens[None]).logits
    names["dump_trace"](model, tokens.tolist(), {0, 2}, 8, tmp_path / "t.safetensors")
    trace = load_trace(tmp_path / "t.safetensors")
    with torch.no_grad():
        assert float((model(tokens[None]).logits - before).abs().max()) < 1e-5
    assert (trace.meta.layer_ids, trace.meta.num_heads, trace.meta.group_size) == ((0, 2), 4, 2)
    assert trace.query_positions.tolist() == list(range(32, 40))
    assert torch.equal(trace.token_ids, tokens)

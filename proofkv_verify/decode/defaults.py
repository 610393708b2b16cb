"""The models that come with the package and what `decode` uses unless told otherwise; standard library only."""

from __future__ import annotations

from pathlib import Path

_DATA = Path(__file__).parent.parent / "data"
MODELS = {path.stem.replace("_", "-"): path for path in sorted(_DATA.glob("byte_llama_*.safetensors"))}
DEFAULT_MODEL = "byte-llama-4"
DEFAULT_LADDER = "4:6:8:10:12:16"

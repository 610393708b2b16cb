"""The resident WebAssembly Lean: one process that checks one module after the other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from proofkv_verify.errors import SolverUnavailableError
from proofkv_verify.prove.messages import Message, parse_messages
from proofkv_verify.prove.sources import Module
from proofkv_verify.prove.toolchain import WasmLean

_HERE = Path(__file__).parent
_NOISE = ("[DEBUG", "  - /lean-lib/", "  mainModule? =", "@@ready")


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of one module: its messages and Lean's count of errors."""

    messages: tuple[Message, ...]
    errors: int

    @property
    def ok(self) -> bool:
        """No error and no warning: a `sorry` is only a warning for Lean, so a warning fails the module."""
        return self.errors == 0 and not self.messages


class WasmChecker:
    """A resident Lean that checks modules; it starts at once and answers when it is ready, some twenty seconds later.

    Requests go in through a FIFO, answers come out of standard output.

    Args:
        lean: the unpacked Lean.
        lean_dir: folder of the sources.
        out_dir: folder of the object files.
    """

    def __init__(self, lean: WasmLean, lean_dir: Path, out_dir: Path) -> None:
        self._out_dir = out_dir
        self._folder = Path(tempfile.mkdtemp(prefix="proofkv-lean-"))
        fifo = self._folder / "requests"
        os.mkfifo(fifo)
        config = self._folder / "config.json"
        paths = {"loader": lean.loader, "lib": lean.library, "src": lean_dir, "out": out_dir, "serve": _HERE}
        document = {key: str(path.resolve()) for key, path in paths.items()} | {"requests": str(fifo)}
        config.write_text(json.dumps(document), encoding="utf-8")
        self._popen = subprocess.Popen(
            [str(lean.node), str(_HERE / "host.js"), str(config), "/serve/Serve.lean"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        # Reading and writing, so that opening does not wait for the other side and the FIFO never ends.
        self._requests = os.open(fifo, os.O_RDWR)

    def check(self, module: Module) -> Checked:
        """Check one module whose imports are checked; writes its object file when it has no errors."""
        (self._out_dir / Path(*module.name.split("."))).parent.mkdir(parents=True, exist_ok=True)
        os.write(self._requests, f"{module.name}\n".encode())
        lines, last = self._read_until(f"@@done {module.name} ")
        return Checked(tuple(parse_messages(lines)), int(last.rsplit(" ", 1)[1]))

    def peak_bytes(self) -> int:
        """Peak resident memory (Linux; elsewhere 0)."""
        status = Path(f"/proc/{self._popen.pid}/status")
        if not status.exists():
            return 0
        peak = [line.split() for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(peak[0][1]) * 1024 if peak else 0

    def close(self) -> None:
        """End the process."""
        self._popen.kill()
        with self._popen:  # Waits, and closes the pipe.
            os.close(self._requests)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read_until(self, start: str) -> tuple[list[str], str]:
        lines: list[str] = []
        stream: IO[str] | None = self._popen.stdout
        for line in stream or ():
            if line.startswith(start):
                return lines, line.strip()
            if not line.startswith(_NOISE):
                lines.append(line.rstrip("\n")[:2000])
        tail = "\n".join(lines[-10:])
        raise SolverUnavailableError(f"the WebAssembly Lean ended without an answer\n{tail}")


@contextmanager
def wasm_checkers(lean: WasmLean, lean_dir: Path, out_dir: Path, count: int) -> Iterator[list[WasmChecker]]:
    """That many checkers, which end with the block."""
    out_dir.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        yield [stack.enter_context(closing(WasmChecker(lean, lean_dir, out_dir))) for _ in range(count)]

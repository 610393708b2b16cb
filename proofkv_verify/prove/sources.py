"""The modules of a Lean project: what they import, in which order they are checked, and when they need no new check."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from proofkv_verify.errors import InvalidInputError

_IMPORT = re.compile(r"^(?:public\s+)?(?:meta\s+)?import\s+(?:all\s+)?(\S+)\s*$")
_SKIPPED_FOLDERS = frozenset({".lake", "build"})


@dataclass(frozen=True, slots=True)
class Module:
    """One Lean module of the project.

    `header` is the text up to the last import: modules with equal headers share one import in the resident checker.
    """

    name: str
    path: Path
    header: str
    imports: tuple[str, ...]
    digest: str


def read_modules(lean_dir: Path) -> dict[str, Module]:
    """All modules of the project by name.

    Raises:
        InvalidInputError: the folder holds no Lean module.
    """
    found = {}
    for path in sorted(lean_dir.rglob("*.lean")):
        parts = path.relative_to(lean_dir).with_suffix("").parts
        if not _SKIPPED_FOLDERS.intersection(parts):
            module = parse_module(".".join(parts), path, path.read_text(encoding="utf-8"))
            found[module.name] = module
    if not found:
        raise InvalidInputError("lean folder", "a folder with .lean files", lean_dir)
    return found


def parse_module(name: str, path: Path, text: str) -> Module:
    """The module of a source text: its imports are the `import` lines before the first other line."""
    imports: list[str] = []
    end = 0
    position = 0
    for line in text.splitlines(keepends=True):
        position += len(line)
        stripped = line.strip()
        match = _IMPORT.match(stripped)
        if match:
            imports.append(match.group(1))
            end = position
        elif stripped and stripped != "module" and not stripped.startswith("--"):
            break
    return Module(name, path, text[:end], tuple(imports), _digest(text))


def is_unchanged(module: Module) -> bool:
    """Whether the file still holds the text that was read: a check that an edit overtook must not be remembered."""
    return _digest(module.path.read_text(encoding="utf-8")) == module.digest


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def own_imports(module: Module, modules: Mapping[str, Module]) -> tuple[str, ...]:
    """The imports of a module that belong to the project."""
    return tuple(name for name in module.imports if name in modules)


def order_modules(modules: Mapping[str, Module]) -> list[Module]:
    """The modules, imports first; among those that are ready, one with the header of the module before is preferred.

    Raises:
        InvalidInputError: the imports form a cycle.
    """
    waiting = {name: set(own_imports(module, modules)) for name, module in modules.items()}
    ordered: list[Module] = []
    header = ""
    while waiting:
        ready = sorted(name for name, needs in waiting.items() if not needs)
        if not ready:
            raise InvalidInputError("imports", "no cycle", ", ".join(sorted(waiting)))
        name = next((name for name in ready if modules[name].header == header), ready[0])
        header = modules[name].header
        ordered.append(modules[name])
        del waiting[name]
        for needs in waiting.values():
            needs.discard(name)
    return ordered


def content_keys(ordered: Iterable[Module], modules: Mapping[str, Module], salt: str) -> dict[str, str]:
    """A key for each module that changes when its source, an import of it, or the checker (`salt`) changes."""
    keys: dict[str, str] = {}
    for module in ordered:
        parts = [salt, module.digest, *(keys[name] for name in own_imports(module, modules))]
        keys[module.name] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return keys


def not_imported(modules: Mapping[str, Module], importer: str, root: str) -> list[str]:
    """The modules below the folder `root` that the module `importer` does not import."""
    listed = set(modules[importer].imports) if importer in modules else set()
    return sorted(name for name in modules if name.startswith(root + ".") and name not in listed)

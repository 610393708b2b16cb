"""Object files of checked modules by content key: shared by all checkouts, safe for several runs at once."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_DAY = 24 * 3600.0
_UNUSED_DAYS = 30
_ABANDONED_DAYS = 2


class Store:
    """Sets of files by key. A set under a key says that the module with this key was checked without a message.

    Args:
        folder: the folder of the store, made when it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self._sets = folder / "sets"
        self._runs = folder / "runs"
        self._sets.mkdir(parents=True, exist_ok=True)
        self._runs.mkdir(exist_ok=True)

    def fetch(self, key: str, targets: Mapping[str, Path]) -> bool:
        """Put the named files of a key at their targets; whether the store has all of them."""
        kept = self._sets / key
        if not all((kept / name).is_file() for name in targets):
            return False
        for name, target in targets.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            _link(kept / name, target)
        os.utime(kept)
        return True

    def keep(self, key: str, sources: Mapping[str, Path]) -> None:
        """Keep files under a key, all or none; of two runs that do it at the same time the first one wins."""
        part = Path(tempfile.mkdtemp(dir=self._runs))
        for name, source in sources.items():
            _link(source, part / name)
        kept = self._sets / key
        try:
            part.rename(kept)
        except OSError:
            shutil.rmtree(part)
            if not kept.is_dir():
                raise

    @contextmanager
    def run_folder(self) -> Iterator[Path]:
        """A folder for the object files of one run, on the file system of the store; removed at the end."""
        with tempfile.TemporaryDirectory(dir=self._runs, ignore_cleanup_errors=True) as folder:
            yield Path(folder)

    def prune(self) -> None:
        """Remove sets that no run used for thirty days, and what killed runs left behind."""
        _remove_older(self._sets, _UNUSED_DAYS)
        _remove_older(self._runs, _ABANDONED_DAYS)


def _link(source: Path, target: Path) -> None:
    """Hard link, or a copy where the file system has no links; Lean writes new files, never into old ones."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(source, target)


def _remove_older(folder: Path, days: float) -> None:
    limit = time.time() - days * _DAY
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # Another run removes it at the same time.
            if path.stat().st_mtime < limit:
                shutil.rmtree(path, ignore_errors=True)

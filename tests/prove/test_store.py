"""Files of checked modules are kept by content key: all or none, for every checkout, for several runs at once."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from proofkv_verify.prove.store import Store

DAY = 24 * 3600


def kept(store: Store, folder: Path, key: str = "k", text: str = "olean") -> Path:
    source = folder / "A.olean"
    source.write_text(text)
    store.keep(key, {".olean": source})
    return source


def test_a_kept_set_is_fetched_with_its_content(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    kept(store, tmp_path)
    target = tmp_path / "out" / "B.olean"
    assert Store(tmp_path / "store").fetch("k", {".olean": target})
    assert target.read_text() == "olean"


def test_a_key_that_was_not_kept_and_a_set_without_a_wanted_file_are_not_fetched(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    kept(store, tmp_path)
    targets = {".olean": tmp_path / "a", ".ir": tmp_path / "b"}
    assert not store.fetch("other", targets)
    assert not store.fetch("k", targets)
    assert not (tmp_path / "a").exists()


def test_a_new_file_in_place_of_a_fetched_one_leaves_the_store_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    source = kept(store, tmp_path)
    source.unlink()
    source.write_text("changed")
    assert store.fetch("k", {".olean": tmp_path / "again"})
    assert (tmp_path / "again").read_text() == "olean"


def test_of_two_runs_that_keep_the_same_key_the_first_one_wins(tmp_path: Path) -> None:
    one, two = Store(tmp_path / "store"), Store(tmp_path / "store")
    kept(one, tmp_path)
    (tmp_path / "A.olean").unlink()
    kept(two, tmp_path, text="other")
    assert two.fetch("k", {".olean": tmp_path / "got"})
    assert (tmp_path / "got").read_text() == "olean"
    assert list((tmp_path / "store" / "runs").iterdir()) == []


def test_a_set_that_cannot_be_kept_is_an_error_and_is_not_fetched(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with pytest.raises(FileNotFoundError):
        store.keep("k", {".olean": tmp_path / "not there"})
    assert not store.fetch("k", {".olean": tmp_path / "got"})


def test_without_hard_links_files_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(source: Path, target: Path) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("os.link", no_link)
    store = Store(tmp_path / "store")
    kept(store, tmp_path)
    assert store.fetch("k", {".olean": tmp_path / "got"})
    assert (tmp_path / "got").read_text() == "olean"


def test_sets_that_no_run_used_for_long_and_what_killed_runs_left_are_removed(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    for key in ("old", "used", "new"):
        (tmp_path / "A.olean").unlink(missing_ok=True)
        kept(store, tmp_path, key)
    abandoned = tmp_path / "store" / "runs" / "abandoned"
    abandoned.mkdir()
    long_ago = time.time() - 40 * DAY
    for path in (tmp_path / "store" / "sets" / "old", tmp_path / "store" / "sets" / "used", abandoned):
        os.utime(path, (long_ago, long_ago))
    assert store.fetch("used", {".olean": tmp_path / "got"})
    with store.run_folder() as running:
        store.prune()
        assert running.is_dir()
    assert not abandoned.exists()
    assert sorted(path.name for path in (tmp_path / "store" / "sets").iterdir()) == ["new", "used"]
    assert not running.exists()

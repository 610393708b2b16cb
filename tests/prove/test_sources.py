"""The order in which Lean modules are checked, and when they are checked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofkv_verify.errors import InvalidInputError
from proofkv_verify.prove.sources import (
    Module,
    content_keys,
    not_imported,
    order_modules,
    parse_module,
    read_modules,
)

HERE = Path("x.lean")


def make(name: str, *imports: str, body: str = "") -> Module:
    header = "module\n\n" + "".join(f"public import {i}\n" for i in imports)
    return parse_module(name, HERE, header + "\n" + body)


def named(*modules: Module) -> dict[str, Module]:
    return {module.name: module for module in modules}


def test_every_form_of_import_is_read_and_the_body_is_not() -> None:
    head = "module\n\npublic meta import Lean.Util.Path\nimport all A.B\nimport C\n"
    text = head + "-- import D\n/-! import E -/\nimport F\n"
    module = parse_module("X", HERE, text)
    assert module.imports == ("Lean.Util.Path", "A.B", "C")
    assert module.header.endswith("import C\n")


def test_imports_come_before_the_modules_that_need_them() -> None:
    modules = named(make("A", "B", "C"), make("B", "C"), make("C", "Lean"))
    assert [module.name for module in order_modules(modules)] == ["C", "B", "A"]


def test_modules_with_equal_headers_are_neighbours() -> None:
    modules = named(make("Z"), make("A1", "Z"), make("B", "A1"), make("A2", "Z"), make("C1", "A1", "A2"))
    names = [module.name for module in order_modules(modules)]
    assert abs(names.index("A1") - names.index("A2")) == 1


def test_a_cycle_of_imports_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="no cycle"):
        order_modules(named(make("A", "B"), make("B", "A")))


def keys(modules: dict[str, Module], salt: str = "s") -> dict[str, str]:
    return content_keys(order_modules(modules), modules, salt)


def test_a_changed_source_changes_the_keys_of_itself_and_of_what_imports_it_only() -> None:
    before = named(make("A"), make("B", "A"), make("C"))
    after = before | named(make("A", body="theorem t : True := trivial"))
    old, new = keys(before), keys(after)
    assert {name for name in old if old[name] != new[name]} == {"A", "B"}


def test_another_checker_changes_every_key() -> None:
    modules = named(make("A"), make("B", "A"))
    old, new = keys(modules, "s"), keys(modules, "t")
    assert all(old[name] != new[name] for name in modules)


def test_a_module_that_the_root_does_not_import_is_reported() -> None:
    modules = named(make("R", "R.A"), make("R.A"), make("R.B"))
    assert not_imported(modules, "R", "R") == ["R.B"]


def test_a_folder_without_lean_files_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="lean folder"):
        read_modules(tmp_path)


def test_module_names_follow_the_folders_and_build_folders_are_skipped(tmp_path: Path) -> None:
    for name in ("P/Thm/X.lean", "P.lean", ".lake/Y.lean"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("module\n")
    assert set(read_modules(tmp_path)) == {"P", "P.Thm.X"}

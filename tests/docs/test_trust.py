import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("trusted_lines", ROOT / "scripts" / "trusted_lines.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_states_the_current_size_of_the_trusted_core() -> None:
    script, text = load_script(), (ROOT / "docs" / "trust.md").read_text()
    assert text == script.updated(text), "run: python scripts/trusted_lines.py"


def test_code_lines_counts_neither_docstrings_nor_comments(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    body = 'x = (\n    1\n)\n\n\ndef f():\n    """Two\n    lines."""\n    return 2\n'
    source.write_text('"""Doc."""\n\n# comment\n' + body)
    assert load_script().code_lines(source) == 5

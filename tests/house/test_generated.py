"""What follows from the files of operators and aggregates is what would be written from them now."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = {file: text for script in ("generate_methods", "generate_docs", "generate_functions")
         for file, text in runpy.run_path(str(ROOT / "scripts" / f"{script}.py"))["files"]().items()}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_generated_files_are_up_to_date(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == FILES[file], "run `make generate`"


def test_no_page_is_left_of_an_operator_that_is_gone() -> None:
    assert set((ROOT / "docs/operators").rglob("*.md")) <= FILES.keys()

"""What follows from the operators' files is what would be written from them now."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "generate_methods.py"
FILES = runpy.run_path(str(SCRIPT))["files"]()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_generated_files_are_up_to_date(file: Path) -> None:
    assert file.read_text(encoding="utf-8") == FILES[file], "run `make generate`"

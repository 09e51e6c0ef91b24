"""codespell finds nothing in code and pages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.house.texts import ROOT, committed

SEARCHED = ("engine", "workbench", "bench", "scripts", "notebooks", "docs")


def spelled(*files: str | Path) -> str:
    done = subprocess.run([sys.executable, "-m", "codespell_lib", *map(str, files)], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout


def test_code_and_pages_are_spelled_right() -> None:
    files = [file for pattern in ("*.py", "*.md", "*.toml", "*.sh") for file in committed(pattern)
             if file.startswith(SEARCHED) or "/" not in file]
    assert len(files) > 500
    assert spelled(*files) == ""


def test_a_misspelled_word_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("the " + "wat" + "ermrak adavnces teh time", encoding="utf-8")
    assert "teh ==> the" in spelled(page)

"""The first notebook runs from top to bottom, and its replay agrees with its back-test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_first_picture_runs_and_agrees() -> None:
    program = [sys.executable, "scripts/run_notebook.py", "notebooks/01_first_picture.py"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("replay and back-test agree: True\n")

"""A Spark of one's own."""

from __future__ import annotations

import subprocess
import sys

import pytest

START = """
from whimbrel.spark import local_session
session = local_session(1)
print(session.range(3).count())
session.stop()
"""


@pytest.mark.long
def test_a_session_starts_without_a_word() -> None:
    """Eight lines of Spark's stood in red below the first cell of a notebook."""
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True, timeout=120)
    said = [line for line in done.stderr.splitlines() if "incubator modules" not in line]  # is Java's own
    assert (done.stdout, said) == ("3\n", [])

"""Only who keeps code says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_where_no_code_can_be_kept_nothing_is_warm(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.touch()  # a file, where a folder should be
    result = subprocess.run([sys.executable, "-m", "whimbrel", "warm"], env=os.environ | {"WHIMBREL_CACHE": str(taken)},
                            capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 1
    assert result.stdout == ""
    assert f"cannot be kept in {taken}, which cannot be written" in result.stderr

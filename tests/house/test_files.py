"""Files stay small, are named after what they hold, and say nothing of the machine they were written on."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES = 500
GENERATED = {"engine/whimbrel/stream/methods.py"}  # `make generate` writes it: nobody reads it from top to bottom
BANNED_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
HOME_PATH = re.compile(r"(?<![\w.~}])/(home|Users|root|work)/\w")


def committed(*patterns: str) -> list[Path]:
    """Files that git knows or would take."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_there_is_something_to_check() -> None:
    assert ROOT / "engine/whimbrel/errors.py" in committed("*.py")


def test_the_parts_in_which_all_tests_are_run_are_there() -> None:
    parts = re.search(r'^parts="([^"]*)"$', (ROOT / "scripts/test.sh").read_text(encoding="utf-8"), re.MULTILINE)
    assert parts is not None
    assert [path for path in parts[1].split() if not (ROOT / path).exists()] == []


def test_no_python_file_is_too_long() -> None:
    written = [path for path in committed("*.py") if "golden" not in path.parts]
    sizes = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in written}
    assert {name: lines for name, lines in sizes.items() if lines > MOST_LINES and name not in GENERATED} == {}


def test_no_file_has_an_empty_name() -> None:
    assert [path for path in committed("*.py") if BANNED_NAMES & {path.stem, *path.relative_to(ROOT).parts}] == []


def test_no_text_names_a_place_on_one_machine() -> None:
    found = []
    for path in committed("*.py", "*.md", "*.toml", "*.sh", "*.yml", "Makefile", ".ci/*"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if HOME_PATH.search(line) and path != Path(__file__):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []


@pytest.mark.parametrize("line", ("open('/home/ann/x')", "see /Users/ann/x", "`/root/x`"))
def test_a_place_on_one_machine_is_found(line: str) -> None:
    assert HOME_PATH.search(line)

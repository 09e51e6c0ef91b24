"""The packages on disk, in docs/architecture.md and in the import contract are the same, in the same order."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {"whimbrel": ROOT / "engine/whimbrel", "whimbrel_workbench": ROOT / "workbench/whimbrel_workbench"}
OUTSIDE = {"__init__", "__main__"}


def contract(package: str) -> list[set[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [layers] = [c["layers"] for c in settings["tool"]["importlinter"]["contracts"] if c.get("containers") == [package]]
    return [set(layer.split(" | ")) for layer in layers]


def architecture(package: str) -> list[set[str]]:
    """Rows of the table: names before two spaces, `|` between siblings."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = re.search(rf"^\w+/{package}/\n((?:  .*\n)+)", text, flags=re.MULTILINE)
    assert table, f"docs/architecture.md has no table of {package}"
    rows = [re.split(r"\s{2,}", row.strip())[0] for row in table[1].splitlines() if re.match(r"  \S", row)]
    names = [{name.removesuffix(".py").removesuffix("/") for name in row.split(" | ")} for row in rows]
    return [row for row in names if not row <= OUTSIDE]


@pytest.mark.parametrize("package", list(SOURCES))
def test_the_table_is_the_contract(package: str) -> None:
    assert architecture(package) == contract(package)


@pytest.mark.parametrize("package", list(SOURCES))
def test_every_package_is_in_the_contract(package: str) -> None:
    on_disk = {
        path.stem for path in SOURCES[package].iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    assert on_disk - OUTSIDE == set().union(*contract(package))

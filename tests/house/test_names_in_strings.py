"""Tests that replace a part of a module name it in a string; a move must not leave the string behind."""

from __future__ import annotations

import ast
import pkgutil
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CALLS = {"import_module", "setattr"}


def names_in(path: Path) -> list[tuple[str, str]]:
    """Calls of import_module() and setattr() whose first argument is a dotted name: the call, and the name."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or (called := _name_of(node.func)) not in CALLS or not node.args:
            continue
        match node.args[0]:
            case ast.Constant(value=str(name)) if name.startswith("whimbrel"):
                found.append((called, name))
    return found


def _name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


NAMES = [pytest.param(*found, id=f"{path.stem}-{found[1]}") for path in sorted((ROOT / "tests").rglob("*.py"))
         for found in names_in(path)]


@pytest.mark.parametrize(("call", "name"), NAMES)
def test_a_name_in_a_string_exists(call: str, name: str) -> None:
    if call == "import_module":
        import_module(name)
    else:
        pkgutil.resolve_name(name)


def test_there_are_names_to_look_at() -> None:
    assert len(NAMES) > 5

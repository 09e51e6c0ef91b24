"""Imports are resolved and cycles are found; which are left is in the debt file."""

from __future__ import annotations

import ast

from tests.house import imports, texts

TREES = {
    "engine/p/__init__.py": "from p.low import Low",
    "engine/p/low.py": "class Low: ...",
    "engine/p/high.py": "from p import Low\nfrom p import low",
    "engine/p/one.py": "def inner():\n    from p.two import x",
    "engine/p/two.py": "if TYPE_CHECKING:\n    from p.three import X",
    "engine/p/three.py": "import p.one",
}
GRAPH = imports.graph({file: ast.parse(text) for file, text in TREES.items()})


def test_a_name_of_a_package_counts_for_its_own_module() -> None:
    assert GRAPH["p.high"] == {"p.low"}


def test_imports_for_types_and_inside_functions_count() -> None:
    assert imports.cycles(GRAPH) == [{"p.one", "p.two", "p.three"}]


def test_an_order_has_no_cycle() -> None:
    assert imports.cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_the_loop_of_a_closed_set_is_allowed() -> None:
    names = sorted(imports.ALLOWED[0])
    loop = {name: {following} for name, following in zip(names, names[1:] + names[:1], strict=True)}
    assert imports.cycles(loop) == []


def test_every_allowed_loop_exists() -> None:
    packages = {file: tree for file, tree in texts.modules().items() if file.startswith(texts.PACKAGES)}
    found = imports.all_cycles(imports.graph(packages))
    assert [group for group in imports.ALLOWED if group not in found] == []

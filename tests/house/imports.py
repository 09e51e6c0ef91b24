"""Which module knows which: every import, those for types only and those inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath

Graph = dict[str, set[str]]
ALLOWED = [{f"whimbrel.expr.{name}" for name in ("nodes", "functions", "format", "numeric_methods",
                                              "temporal_nodes", "temporal_methods", "time_methods", "text_methods",
                                              "list_methods", "ip_methods",
                                              "segment_functions")}]
"""A node knows the functions that it offers and how it is shown; the set of nodes is closed."""


def graph(trees: Mapping[str, ast.Module]) -> Graph:
    """Imports between modules by name; a name that a package hands on counts as imported from its own module."""
    names = {name(file): tree for file, tree in trees.items()}
    packages = {name(file) for file in trees if file.endswith("__init__.py")}
    handed_on = {package: {alias.asname or alias.name: (node.module, alias.name)
                           for node in ast.walk(names[package]) if isinstance(node, ast.ImportFrom) and node.module
                           for alias in node.names} for package in packages}

    def home(module: str, imported: str) -> str:
        if f"{module}.{imported}" in names:
            return f"{module}.{imported}"
        if module in packages and imported in handed_on[module]:
            return home(*handed_on[module][imported])
        return module

    return {module: {found for found in _imported(tree, home) if found in names} - {module}
            for module, tree in names.items() if module not in packages}


def _imported(tree: ast.Module, home: Callable[[str, str], str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (home(node.module, alias.name) for alias in node.names)


def cycles(imports: Graph) -> list[set[str]]:
    """Groups of modules that import one another, without the allowed ones."""
    return [group for group in all_cycles(imports) if group not in ALLOWED]


def all_cycles(imports: Graph) -> list[set[str]]:
    """Groups of modules each of which reaches all others of its group (strongly connected, Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(imports.get(module, ())):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            group = set(stack[stack.index(module):])
            del stack[stack.index(module):]
            if len(group) > 1:
                found.append(group)

    for module in sorted(imports):
        if module not in index:
            visit(module)
    return found


def name(file: str) -> str:
    """Module of a file."""
    parts = PurePath(file).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

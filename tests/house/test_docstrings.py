"""Docstrings have short titles; those of operators and aggregates have a timeline and examples.

The first paragraph is the title. That the examples run is tested where they stand.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cached_property
from types import ModuleType

import pytest

import whimbrel.aggregates
import whimbrel.operators
from tests.house import texts
from whimbrel.plan import Aggregate, Operator
from whimbrel.testing.laws import docstring_lacks

MAX_TITLE_WORDS = 12
NO_TITLE_BEGINS = ("How", "If", "Let", "So", "That", "What", "When", "Where", "Whether", "Which", "Why")
"""Words that begin neither an imperative nor a noun phrase."""
PUBLIC = ("whimbrel", "whimbrel.stream.feeds", "whimbrel.stream.sinks", "whimbrel.stream.datasets",
          "whimbrel.aggregates", "whimbrel.operators", "whimbrel.errors", "whimbrel.spark", "whimbrel_workbench",
          "whimbrel_workbench.magics")
"""Modules with public names: those in ``__all__``, or else those that the module defines."""
RETURNED = ("display.Views", "expr.Expr", "expr.functions.StringFunctions", "expr.functions.TimeFunctions",
            "plan.Sink", "plan.Source", "progressive.estimation.compare.Verdict", "run.Lineage", "run.Profile",
            "stream.certify.Certificate")
"""Classes of the engine that users get from public methods."""

DESCRIBED = [thing for package in (whimbrel.operators, whimbrel.aggregates)
             for thing in map(vars(package).__getitem__, package.__all__)
             if inspect.isclass(thing) and issubclass(thing, Operator | Aggregate)]


def test_both_are_there() -> None:
    assert {whimbrel.operators.Where, whimbrel.aggregates.Sum} <= set(DESCRIBED)


@pytest.mark.parametrize("described", DESCRIBED, ids=lambda described: described.__name__)
def test_docstring_is_complete(described: type[Operator | Aggregate]) -> None:
    assert docstring_lacks(described) == []


def test_what_is_missing_is_named() -> None:
    class Bare(whimbrel.aggregates.Quantile):
        """Something.

        More of it.
        """

    assert docstring_lacks(Bare) == ["Parameters", "Examples", "a timeline drawing"]


def titles_of_modules() -> Iterator[tuple[str, str]]:
    for file, tree in texts.modules().items():
        if file.startswith(texts.PACKAGES):
            yield file, title(ast.get_docstring(tree))


def titles_of_public_objects() -> Iterator[tuple[str, str]]:
    """Titles of public functions and classes, and of the public members of the classes."""
    for name, thing in {**dict(_exported()), **dict(_returned())}.items():
        yield name, title(thing.__doc__)
        if inspect.isclass(thing):
            for member, described in _members(thing):
                yield member, title(described.__doc__)


def title(docstring: str | None) -> str:
    return " ".join(inspect.cleandoc(docstring or "").split("\n\n")[0].split())


def faults(found: Iterator[tuple[str, str]]) -> list[str]:
    """Titles that are too long, or neither an imperative nor a noun phrase."""
    return [f"{name}: {text}" for name, text in found if text and (
        sum(any(map(str.isalnum, word)) for word in text.split()) > MAX_TITLE_WORDS
        or text.split()[0] in NO_TITLE_BEGINS)]


def _exported() -> Iterator[tuple[str, object]]:
    for package in map(importlib.import_module, PUBLIC):
        for name in getattr(package, "__all__", None) or vars(package):
            thing = getattr(package, name)
            if callable(thing) and not isinstance(thing, ModuleType) and thing.__module__.startswith("whimbrel") and (
                    hasattr(package, "__all__") or thing.__module__ == package.__name__) and name[0] != "_":
                yield f"{package.__name__}.{name}", thing


def _returned() -> Iterator[tuple[str, object]]:
    for path in RETURNED:
        module, name = f"whimbrel.{path}".rsplit(".", 1)
        yield path, getattr(importlib.import_module(module), name)
    yield "LiveView", importlib.import_module("whimbrel_workbench.live_view").LiveView


def _members(described: type) -> Iterator[tuple[str, object]]:
    for owner in described.__mro__:
        if owner.__module__.startswith("whimbrel"):
            for name, member in vars(owner).items():
                if name[0] != "_" and (inspect.isroutine(member) or isinstance(member, property | cached_property)):
                    yield f"{owner.__qualname__}.{name}", member


def test_titles_of_modules_are_short() -> None:
    assert faults(titles_of_modules()) == []


def test_titles_of_public_objects_are_short() -> None:
    found = dict(titles_of_public_objects())
    assert found.keys() >= {"whimbrel.Stream", "Methods.where", "whimbrel.stream.feeds.kafka", "Sink.commit",
                            "Dashboard.save"}
    assert faults(iter(found.items())) == []


def test_bad_titles_are_named() -> None:
    long = " ".join(["word"] * (MAX_TITLE_WORDS + 1))
    assert faults(iter({"long": long, "clause": "Whether it is so.", "good": "Replay a log."}.items())) == [
        f"long: {long}", "clause: Whether it is so."]

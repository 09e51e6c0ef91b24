"""Every operator and every aggregate says what it does, draws it on a timeline and shows an example.

That the examples run is tested where they stand.
"""

from __future__ import annotations

import inspect

import pytest

import whimbrel.aggregates
import whimbrel.operators
from whimbrel.plan import Aggregate, Operator
from whimbrel.testing.laws import docstring_lacks

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

"""Turn operators into methods of a stream.

Each operator has a builder function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from whimbrel.plan.operator import Operator

Operators = Operator | Sequence[Operator]
"""Result of a builder: an operator, or several in sequence."""

Build = TypeVar("Build", bound=Callable[..., Operators])

FLUENT: dict[str, Callable[..., Operators]] = {}
"""Builders by the name of the method they become, in the order in which their files are imported."""


def fluent(build: Build) -> Build:
    """Make a method of every stream out of a function that builds an operator, or several in a row.

    The function's first parameter is the schema of the stream; with a second one named ``right`` (also a schema) the
    method takes another stream, with ``*others`` any number of them. A keyword parameter ``keys`` receives the keys of
    ``group_by``, one named ``known`` the :class:`Properties` of the stream, ``right_known`` those of the other one.
    What is left is what users pass.
    `make generate` writes the method, with this signature and docstring, into ``stream/methods.py``.
    """
    FLUENT[build.__name__] = build
    return build

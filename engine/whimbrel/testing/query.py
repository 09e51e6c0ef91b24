"""A query as text, for the engine and the model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import whimbrel
from whimbrel.testing.model import MODEL_API, Model
from whimbrel.testing.oracle import Event, OracleColumns
from whimbrel.testing.rows import EXAMPLE_SCHEMA

INPUT_NAMES = ("s", "t")
"""What a query calls its first and second input."""


@dataclass(frozen=True)
class Query:
    """Method calls in Python, one a step: the first input is ``s``, the second ``t``.

    Examples
    --------
    >>> query = Query((".where(col.x > 3)", ".select('x')"))
    >>> print(query)
    s.where(col.x > 3).select('x')
    >>> query.reference([(0, 1, {"x": 4, "y": 1.0}), (5, 6, {"x": None, "y": 2.0})])
    [(0, 1, {'x': 4})]
    """

    steps: tuple[str, ...]

    def __str__(self) -> str:
        return "s" + "".join(self.steps)

    @property
    def arity(self) -> int:
        """How many inputs the text names."""
        return 2 if re.search(r"\bt\b", str(self)) else 1

    def build(self, *streams: Any) -> Any:
        """The query over streams of the engine."""
        return self._evaluate(whimbrel, whimbrel.col, streams)

    def reference(self, *inputs: Iterable[Event]) -> list[Event]:
        """The facts that the model answers."""
        answer: Model = self._evaluate(MODEL_API, OracleColumns(), [Model(list(facts), columns=EXAMPLE_SCHEMA.names)
                                                                for facts in inputs])
        return answer.facts

    def _evaluate(self, api: Any, col: Any, inputs: Iterable[Any]) -> Any:
        return eval(str(self), {"wb": api, "col": col, **dict(zip(INPUT_NAMES, inputs, strict=False))})  # noqa: S307 - the text is a test's own

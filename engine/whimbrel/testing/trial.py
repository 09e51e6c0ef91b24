"""Run one query over given events, in any batches and order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from whimbrel.errors import WhimbrelError
from whimbrel.plan import Node
from whimbrel.stream import Stream
from whimbrel.testing.oracle import INF, Event, coalesced, differences
from whimbrel.testing.query import INPUT_NAMES
from whimbrel.testing.rows import BatchedRows, facts_from_table

Build = Callable[..., Any]
Reference = Callable[..., list[Event]]
Cut = Callable[[list[Event]], Sequence[Sequence[Event]]]
Outcome = list[Event] | type[WhimbrelError]
"""The facts of an answer, or the kind of error that there was instead."""

_SHOWN_FACTS = 5


def _whole(facts: list[Event]) -> list[list[Event]]:
    return [facts]


@dataclass(frozen=True)
class Trial:
    """A query, what it is asked of, and what the answer should be.

    Parameters
    ----------
    build : callable
        Streams of the engine -> the query over them.
    inputs : tuple of lists of facts
        One stream for each argument of `build`.
    reference : callable, optional
        The same inputs -> the facts of the answer. Without it, the engine's own answer to sorted input in one batch.
    seed : int
        Chooses batchings and orders of arrival.
    """

    build: Build
    inputs: tuple[list[Event], ...]
    reference: Reference | None = None
    seed: int = 0

    def random(self) -> random.Random:
        return random.Random(self.seed)  # noqa: S311 - chooses test data

    def stream(self, sources: Iterable[BatchedRows]) -> Any:
        """The query over these sources."""
        return self.build(*(Stream(Node(source)) for source in sources))

    def answer(self, sources: Iterable[BatchedRows]) -> Outcome:
        """The engine's answer over these sources."""
        return outcome(lambda: facts_from_table(self.stream(sources).collect()))

    def sources(self, cut: Cut = _whole, **options: Any) -> list[BatchedRows]:
        """The inputs, cut like this, with these options of :class:`BatchedRows`; by default read whole in one batch."""
        return [BatchedRows(cut(facts), name=name, **options) for name, facts in zip(INPUT_NAMES, self.inputs,
                                                                                     strict=False)]

    def run(self, cut: Cut = _whole, **options: Any) -> Outcome:
        """The engine's answer over the inputs, cut and promised like this."""
        return self.answer(self.sources(cut, **options))

    def expected(self) -> Outcome:
        """What the answer should be."""
        if self.reference is None:
            return replace(self, inputs=tuple(map(coalesced, self.inputs))).run()
        reference = self.reference
        return outcome(lambda: reference(*self.inputs))

    def same(self, actual: Outcome, how: str) -> None:
        """Fail, naming the circumstances, unless the answer is as expected."""
        expected = self.expected()
        if isinstance(actual, type) or isinstance(expected, type):
            assert actual is expected, f"{how}: {_describe(actual)} instead of {_describe(expected)}"
            return
        missing, unexpected = differences(expected, actual)
        if missing or unexpected:
            raise AssertionError("\n".join([
                f"{how}: {len(missing)} facts missing, {len(unexpected)} unexpected",
                *(f"  missing    {event}" for event in missing[:_SHOWN_FACTS]),
                *(f"  unexpected {event}" for event in unexpected[:_SHOWN_FACTS]),
            ]))

    def paste(self) -> str:
        """The inputs and the query as Python, ready to be pasted."""
        tables = [f"{name} = {_table(facts)}" for name, facts in zip(INPUT_NAMES, self.inputs, strict=False)]
        query = str(getattr(self.build, "__self__", self.build))
        return "\n".join(["import pyarrow as pa", "import whimbrel as wb", "from whimbrel import col", *tables, query])


def outcome(answer: Callable[[], list[Event]]) -> Outcome:
    """The facts, or the kind of error a user would see; any other exception is a defect and propagates."""
    try:
        return answer()
    except WhimbrelError as error:
        return type(error)


def _describe(result: Outcome) -> str:
    return result.__name__ if isinstance(result, type) else f"{len(result)} facts"


def _table(facts: Sequence[Event]) -> str:
    names = list(facts[0][2]) if facts else ["time"]
    columns = {name: [payload[name] for _, _, payload in facts] for name in names}
    columns["until"] = [None if end == INF else end for _, end, _ in facts]
    text = ", ".join(f"{name!r}: {values}" for name, values in columns.items())
    return f"wb.from_arrow(pa.table({{{text}}}), time='time', end='until')"

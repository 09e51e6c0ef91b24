"""States and rows of users' aggregates as text: kept of any type, and where a state has none, rows are not split."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.run.checkpoint import load, save
from whimbrel.run.execution import Execution


class Held:
    """A state that has no text."""

    def __init__(self, values: list[Any] | None = None) -> None:
        self.values = values or []


def held(state: Held, value: Any) -> Held:
    return Held([*state.values, value])


def both(left: Held, right: Held) -> Held:
    return Held(left.values + right.values)


def as_text(state: Held) -> str:
    return " ".join(sorted(map(str, state.values)))


own = wb.aggregate(init=Held, accumulate=held, result=as_text, merge=both, name="own")
saved = wb.aggregate(init=Held, accumulate=held, result=as_text, merge=both, name="own", save=lambda s: s.values,
                     load=Held)
alone = wb.aggregate(init=Held, accumulate=held, result=as_text, name="own")


def log(values: list[Any] | None = None) -> wb.Stream:
    values = values or [None if row % 11 == 0 else "abc"[row * row % 3] for row in range(100)]
    times = [row - 20 * (row % 7 == 0) for row in range(len(values))]
    return wb.from_arrow({"at": times, "seen": list(range(len(values))), "x": values}, time="at", arrival="seen",
                         name="log")


WAYS: dict[str, Callable[[Any], wb.Stream]] = {
    "tumbling": lambda mine: log().tumbling_window(8).aggregate(v=mine(col.x)),
    "hopping": lambda mine: log().hopping_window(16, 4).aggregate(v=mine(col.x)),
    "each window": lambda mine: log().hopping_window(16, 4).aggregate(v=mine(col.x), emit="close"),
    "sliding": lambda mine: log().sliding_window(9).aggregate(v=mine(col.x)),
}


@pytest.mark.parametrize("way", WAYS)
def test_states_without_a_text_give_what_those_with_one_give(way: str) -> None:
    right = WAYS[way](alone).collect()
    assert len(right) > 10
    for mine in (own, saved):
        assert WAYS[way](mine).collect().equals(right)
        for one, other in zip(WAYS[way](mine).at_latencies(0, 5, 30), WAYS[way](alone).at_latencies(0, 5, 30),
                              strict=True):
            assert one.collect().to_pylist() == other.collect().to_pylist()


def test_the_plan_says_that_states_have_no_text() -> None:
    text = WAYS["tumbling"](own).at_latencies(0, 9).explain()
    assert "note: own is not merged: Cannot write a state of own to a checkpoint: it holds a Held" in text
    assert "states(v=own(" not in text
    text = WAYS["tumbling"](saved).at_latencies(0, 9).explain()
    assert "not merged" not in text
    assert "states(v=own(" in text


ROWS: dict[str, list[Any]] = {
    "texts": ["a", "b"], "decimals": [Decimal("1.10"), Decimal("2.20")], "bytes": [b"a", b"b"],
    "lists": [["a"], ["b", "c"]], "structs": [{"p": 1, "q": "a"}, {"p": 2, "q": "b"}],
    "times in lists": [[datetime(2024, 1, 1, tzinfo=UTC)], []],
    "an hour that comes twice": [[datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=ZoneInfo("Europe/Berlin"))]
                                 for fold in (0, 1)]}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_that_leave_later_are_kept_whatever_their_type(kind: str, tmp_path: Path) -> None:
    values = ROWS[kind]
    column = pa.array(values)
    rows = [pa.table({"at": [at], "x": column.slice(at, 1)}) for at in range(len(values))]
    log = wb.from_arrow(pa.concat_tables(rows), time="at")
    query = log.sliding_window(5).aggregate(v=saved(col.x))
    whole = query.collect().to_pylist()
    for stop in range(1, len(rows) + 1):
        with closing(Execution(query.node)) as session:
            for _ in range(stop):
                session.step()
            before = session.answers[0].settled()
            save(session, tmp_path / str(stop))
        with closing(Execution(query.node)) as later:
            load(later, tmp_path / str(stop))
            while not later.finished:
                later.step()
            assert [*before.to_pylist(), *later.answers[0].settled().to_pylist()] == whole

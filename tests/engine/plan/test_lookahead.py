"""Which streams may meet: never one that looks ahead, and a finer one."""

from __future__ import annotations

from typing import Any

import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.plan import TimeGrid


def log() -> wb.Stream:
    return wb.from_arrow({"at": [1, 4], "k": [1, 1], "x": [1, 2]}, time="at", name="log")


def counts(size: int = 10, hop: int | None = None, **options: Any) -> wb.Stream:
    return log().hopping_window(size, hop or size, **options).group_by("k").aggregate(n=wb.count())


ALLOWED = {
    "equal windows": lambda: counts().join(counts(), on="k"),
    "the stream itself": lambda: (base := counts()).join(base, on="k"),
    "equal hops": lambda: counts(20, 10).join(counts(10, 10), on="k"),
    "three of a kind": lambda: counts().join(counts(), on="k").join(counts(), on="k", suffix="_3"),
    "filters and columns between": lambda: counts().where(col.n > 1).join(counts().select("k", m=col.n), on="k"),
    "windows over windows": lambda: counts(5).tumbling_window(10).group_by("k").aggregate(m=wb.max(col.n))
    .join(counts(10), on="k"),
    "a coarser causal one": lambda: counts(5).join(counts(10, label="end"), on="k"),
    "labelled at the end": lambda: log().join(counts(label="end"), on="k"),
    "sliding": lambda: log().join(log().sliding_window(9).group_by("k").aggregate(n=wb.count()), on="k"),
    "raw events": lambda: log().join(log(), on="k"),
    "as asked for": lambda: log().join(counts(), on="k", allow_lookahead=True),
}
REFUSED = {
    "raw events": lambda: log().join(counts(), on="k"),
    "raw events on the right": lambda: counts().join(log(), on="k"),
    "raw events that slide": lambda: log().sliding_window(10).join(counts(), on="k"),
    "finer windows": lambda: counts(10).join(counts(5), on="k"),
    "finer windows, labelled at the end": lambda: counts(10).join(counts(5, label="end"), on="k"),
    "another offset": lambda: counts(10).join(counts(10, offset=3), on="k"),
    "a filter between": lambda: log().join(counts().where(col.n > 1), on="k"),
    "windows that slide on": lambda: counts(10).sliding_window(5).join(counts(5), on="k"),
    "after a join": lambda: counts().join(counts(), on="k").join(log(), on="k"),
    "what was allowed once": lambda: log().join(counts(), on="k", allow_lookahead=True).join(counts(), on="k"),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_it_may_meet(name: str) -> None:
    ALLOWED[name]().collect()


@pytest.mark.parametrize("name", REFUSED)
def test_it_may_not_meet(name: str) -> None:
    with pytest.raises(wb.WhimbrelError) as caught:
        REFUSED[name]()
    text = str(caught.value)
    assert "before their window has closed" in text
    assert 'label="end"' in text
    assert "allow_lookahead=True" in text


def test_a_rejected_join_names_the_column_with_lookahead() -> None:
    with pytest.raises(wb.WhimbrelError, match=r"use results of .*aggregate\(n=count\(\)\) before"):
        log().join(counts(), on="k")


def test_a_rebound_query_keeps_its_permission() -> None:
    base = log()
    query = base.join(base.tumbling_window(10), on="k", allow_lookahead=True)
    assert query.on(log()).collect().num_rows == query.collect().num_rows == 4


@pytest.mark.parametrize(("one", "other", "on", "joined"), [
    (TimeGrid(10), TimeGrid(5), True, TimeGrid(5)), (TimeGrid(5), TimeGrid(10), False, TimeGrid(5)), (TimeGrid(10, 3),
        TimeGrid(10), False, TimeGrid(1, 3)),
    (TimeGrid(10, 5), TimeGrid(5), True, TimeGrid(5, 5)), (TimeGrid(6, 1), TimeGrid(4, 3), False, TimeGrid(2, 1)),
])
def test_beats(one: TimeGrid, other: TimeGrid, on: bool, joined: TimeGrid) -> None:
    assert one.on(other) is on
    assert one.joined(other) == joined

"""The last rows of each key: ties, state, and refusals."""

from __future__ import annotations

import random

import pytest

import whimbrel as wb
from whimbrel.errors import PlanError
from whimbrel.operators.windows import last_rows as module
from whimbrel.testing.oracle import lifetimes


def ends(times: list[int], rows: int) -> list[int | None]:
    found = wb.from_arrow({"at": times}, time="at").last_rows(rows).collect()
    return [row["end"] for row in sorted(found.to_pylist(), key=lambda row: row["start"])]


def test_an_event_ends_where_enough_others_have_started_strictly_later() -> None:
    assert ends([0, 3, 8, 13], 2) == [8, 13, None, None]
    assert ends([0, 3], 3) == [None, None]


def test_simultaneous_events_end_together() -> None:
    assert ends([0, 0, 4, 6], 2) == [6, 6, None, None]
    assert ends([0, 4, 4], 2) == [4, None, None]
    assert ends([0, 4, 4], 1) == [4, None, None]


def test_rows_that_have_ended_leave_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CROWDED", 50)
    chance = random.Random(5)
    facts = [(at, at + 1, {"at": at, "k": chance.randrange(6), "x": number})
             for number, at in enumerate(sorted(chance.randrange(400) for _ in range(900)))]
    kernel = None
    stream = wb.from_arrow({name: [row[name] for _, _, row in facts] for name in ("at", "k", "x")}, time="at")
    node = stream.group_by("k").last_rows(4).node
    kernel = node.op.kernel(stream.schema)
    [rows] = [batch for batch in stream.sources[0].read(stream.schema.names) if batch is not None]
    open_rows: dict[int, tuple[int, int | None]] = {}
    for begin in range(0, len(rows), 37):
        for out in kernel.push(rows.slice(begin, min(begin + 37, len(rows)))):
            for sync, other, x in zip(out.sync.tolist(), out.other.tolist(), out.column("x").values.tolist(),
                                      strict=True):
                open_rows[x] = (sync, None) if other > sync else (other, sync)
    expected = {row["x"]: (start, None if end == float("inf") else end)
                for start, end, row in lifetimes.last_rows(facts, 4, keys={"k": lambda row: row["k"]})}
    assert {x: (start, None if end is None or end >= 2**62 else end) for x, (start, end) in open_rows.items()} == {
        x: (start, None if end is None or end >= 2**62 else end) for x, (start, end) in expected.items()}
    assert len(kernel.store) < 120
    assert kernel.buffered_rows <= len(kernel.store)


def test_many_keys() -> None:
    rows = wb.from_arrow({"at": range(9000), "k": [at % 3000 for at in range(9000)]}, time="at")
    found = rows.group_by("k").last_rows(1).collect()
    assert [row["end"] - row["start"] for row in found.to_pylist() if row["end"] is not None] == [3000] * 6000


@pytest.mark.parametrize("rows", [0, -1, 1.5, True])
def test_a_refusal(rows: object) -> None:
    with pytest.raises(PlanError, match=f"rows must be an integer of at least 1, got {rows!r}"):
        wb.from_arrow({"at": [1]}, time="at").last_rows(rows)


def test_explain() -> None:
    stream = wb.from_arrow({"at": [1], "k": [1]}, time="at").group_by("k").last_rows(3).aggregate(n=wb.count())
    assert "group_by(k).last_rows(3)" in stream.explain()

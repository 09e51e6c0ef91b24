"""Buffered rows of a run are counted by operator, and are released when the watermark has passed them."""

from __future__ import annotations

from contextlib import closing

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.run import Execution

ROWS = 200
SCHEMA = pa.schema([("at", pa.int64()), ("until", pa.int64()), ("punctuation", pa.bool_()), ("k", pa.string()),
                    ("x", pa.int64())])

QUERIES = {
    "tumbling_window": lambda s: s.group_by("k").tumbling_window(1_000).aggregate(n=wb.count()),
    "hopping_window": lambda s: s.group_by("k").hopping_window(1_000, 300).aggregate(total=wb.sum(col.x)),
    "sliding_window": lambda s: s.group_by("k").sliding_window(500).aggregate(hi=wb.max(col.x), mid=wb.median(col.x)),
    "top_k": lambda s: s.sliding_window(500).top_k(2, by=col.x),
    "join": lambda s: s.sliding_window(400).join(s.where(col.x > 2).sliding_window(300), on="k"),
    "join_left": lambda s: s.sliding_window(400).join(s.where(col.x > 5).sliding_window(300), on="k", how="left"),
    "semi_join": lambda s: s.sliding_window(400).semi_join(s.where(col.x > 2).sliding_window(300), on="k"),
    "anti_join": lambda s: s.sliding_window(400).anti_join(s.where(col.x > 5).sliding_window(300), on="k"),
    "session_window": lambda s: s.group_by("k").session_window(500).aggregate(n=wb.count()),
    "session_closed": lambda s: s.group_by("k").session_window(500, emit="close").aggregate(n=wb.count()),
    "detect": lambda s: s.group_by("k").detect(wb.event(col.x >= 0).repeat(), within=500, skip=True),
    "clip": lambda s: s.sliding_window(400).clip_at(s.where(col.x > 6), on="k"),
    "chop": lambda s: s.sliding_window(400).chop(150),
    "stitch": lambda s: s.sliding_window(400).select("k").stitch(),
    "union": lambda s: s.sliding_window(400).shift(300).union(s),
}


def points_then_punctuation(rows: int, then: int) -> wb.Stream:
    """A point for each of the first ticks, and then the word that time has come far beyond them."""
    points = pa.record_batch({"at": range(rows), "until": range(1, rows + 1), "punctuation": [False] * rows,
                              "k": [f"{at % 3}" for at in range(rows)], "x": [at % 7 for at in range(rows)]}, SCHEMA)
    word = pa.record_batch({"at": [then], "until": [None], "punctuation": [True], "k": [None], "x": [None]}, SCHEMA)
    return wb.from_edges(pa.Table.from_batches([points, word]), sync="at", other="until", punctuation="punctuation",
                         name="points")


@pytest.mark.parametrize("name", QUERIES)
def test_what_is_remembered_is_forgotten_when_time_has_passed(name: str) -> None:
    query = QUERIES[name](points_then_punctuation(ROWS, 1_000_000))
    with closing(Execution(query.node)) as session:
        answer, = session.answers
        session.step()
        before = answer.metrics()
        session.step()
        after = answer.metrics()
        assert not session.finished
    assert (before.rows, after.rows) == (ROWS, ROWS + 1)
    assert before.buffered_rows == sum(before.buffered.values()) > 0
    assert after.buffered == dict.fromkeys(before.buffered, 0)


def test_operators_are_named_as_in_the_plan_that_runs_and_numbered_where_they_are_alike() -> None:
    points = points_then_punctuation(ROWS, 1_000_000)
    query = points.sliding_window(50).join(points.sliding_window(50), on="k")
    with closing(Execution(query.node)) as session:
        session.step()
        buffered = session.answers[0].metrics().buffered
    runs = query.explain().split("runs as")[1]
    first, join = "sliding_window(50)", next(name for name in buffered if name.startswith("join"))
    assert list(buffered) == ["points", first, f"{first} (2)", join]
    assert join in runs
    assert buffered[join] > 0
    assert buffered[first] == buffered[f"{first} (2)"] == 0


@pytest.mark.parametrize("name", ("join", "outer join", "semi_join", "anti_join", "clip", "asof_join"))
def test_what_has_ended_holds_nothing_back(name: str) -> None:
    left, right = (wb.from_arrow({"at": list(range(40)), "k": [at % 3 for at in range(40)], "x": [*range(40)]},
                                 time="at", name=side) for side in ("left", "right"))
    query = {
        "join": lambda: left.sliding_window(9).join(right, on="k"),
        "outer join": lambda: left.sliding_window(9).join(right, on="k", how="full"),
        "semi_join": lambda: left.sliding_window(9).semi_join(right, on="k"),
        "anti_join": lambda: left.sliding_window(9).anti_join(right, on="k"),
        "clip": lambda: left.sliding_window(9).clip_at(right, on="k"),
        "asof_join": lambda: left.asof_join(right, on="k"),
    }[name]()
    run = query.start()
    assert run.wait(60)
    assert set(run.metrics.buffered.values()) == {0}
    assert run.snapshot().table.equals(query.collect())

"""Running aggregates: any kind of state, resets, keys, edges and checkpoints."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.errors import KernelError
from whimbrel.kernels import tier
from whimbrel.plan import partition_columns

ROWS = 300
DRAWN = np.random.default_rng(3)
TABLE = pa.table({
    "at": np.arange(ROWS) * 3, "k": pa.array(["a", "b", None] * (ROWS // 3)),
    "x": pa.array(DRAWN.integers(-9, 9, ROWS), mask=DRAWN.random(ROWS) < 0.2), "y": DRAWN.random(ROWS),
    "word": pa.array([f"w{number % 7}" for number in range(ROWS)]),
    "price": pa.array([Decimal(number % 11) / 4 for number in range(ROWS)], pa.decimal128(9, 2)),
    "big": pa.array([2**63 + number for number in range(ROWS)], pa.uint64()),
    "opens": pa.array(np.arange(ROWS) % 50 == 0, mask=np.arange(ROWS) % 4 == 1),
})
LOG = wb.from_arrow(TABLE, time="at", name="log")
WORDS = wb.aggregate(init=list, accumulate=lambda s, word: [*s, word][-3:], result="".join, name="words")
WEIGHTED = wb.aggregate(init=(0.0, 0.0), accumulate=lambda s, x, w: (s[0] + x * w, s[1] + w),
                        result=lambda s: s[0] / s[1] if s[1] else None, name="weighted")
GAP = wb.aggregate(init=(0, 0), accumulate=lambda s, x, start: (start, x + start - s[0]), result=lambda s: s[1],
                   name="gap")

AGGREGATES: dict[str, Any] = {
    "count": wb.count(), "count of values": wb.count(col.x), "sum": wb.sum(col.x), "mean": wb.mean(col.y),
    "std": wb.std(col.y), "max of words": wb.max(col.word), "last": wb.last(col.x), "any": wb.any(col.x > 8),
    "condition": wb.sum(col.x).where(col.y > 0.5), "decimals": wb.sum(col.price), "wide": wb.sum(col.big, widen=True),
    "largest": wb.max(col.big), "median": wb.median(col.x), "distinct": wb.count_distinct(col.word),
    "collect": wb.collect(col.x), "words": WORDS(col.word), "weighted": WEIGHTED(col.x, col.y), "times": GAP(col.x),
}


def pieces(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """For each row, the rows so far since the last reset."""
    out, since = [], 0
    for number, row in enumerate(rows):
        since = number if row["opens"] else since
        out.append(rows[since:number + 1])
    return out


def of_all(rows: list[dict[str, Any]], aggregate: Any) -> Any:
    """The value of an aggregate over some rows."""
    stream = wb.from_arrow(pa.Table.from_pylist(rows, TABLE.schema), time="at")
    if aggregate.show().startswith(("last", "gap", "words")):
        stream = stream.set_duration(None)
        return stream.aggregate(v=aggregate).collect()["v"].to_pylist()[-1]
    return stream.tumbling_window(10_000).aggregate(v=aggregate).collect()["v"].to_pylist()[0]


@pytest.mark.parametrize("name", AGGREGATES)
def test_each_aggregate_is_that_of_the_rows_so_far(name: str) -> None:
    aggregate = AGGREGATES[name]
    with tier("interpreted"):
        found = LOG.group_by("k").select("k", "at", v=aggregate.so_far(reset=col.opens)).collect()
        rows = [row for row in TABLE.to_pylist() if row["k"] == "a"]
        values = found.filter(pa.compute.equal(found["k"], "a"))["v"].to_pylist()
        some = DRAWN.integers(0, len(rows), 6).tolist()
        expected = [of_all(pieces(rows)[row], aggregate) for row in some]
    assert [values[row] for row in some] == [
        pytest.approx(value) if isinstance(value, float) else value for value in expected]
    assert found.filter(pa.compute.is_null(found["k"]))["v"].null_count == ROWS // 3


def test_compiled_is_interpreted() -> None:
    query = LOG.group_by("k").select(**{name.replace(" ", "_"): each.so_far(reset=col.opens)
                                        for name, each in AGGREGATES.items()})
    with tier("interpreted"):
        expected = query.collect()
    with tier("fused"):
        assert query.collect().equals(expected)


def test_parts_of_a_query_share_one_loop() -> None:
    query = LOG.with_columns(a=wb.sum(col.x).so_far(), b=(wb.mean(col.y) + wb.max(col.y)).so_far(),
                             c=wb.sum(col.x).so_far(reset=col.opens))
    assert query.explain().split("runs as")[1].count("running(") == 1
    nested = LOG.with_columns(a=wb.max(wb.sum(col.x).so_far()).so_far())
    assert nested.explain().split("runs as")[1].count("running(") == 2
    assert nested.collect()["a"].to_pylist()[-1] == max(
        value for value in LOG.select(s=wb.sum(col.x).so_far()).collect()["s"].to_pylist())


def test_a_reset_may_read_other_events() -> None:
    log = wb.from_arrow({"at": [0, 1, 5, 6], "x": [1, 2, 3, 4]}, time="at").select("x")
    day = wb.start_time() - col.x.previous()
    assert log.select(n=wb.sum(col.x).so_far(reset=col.x.ago(1).is_null())).collect()["n"].to_pylist() == [1, 3, 3, 7]
    assert log.with_columns(d=day).select(n=wb.count().so_far(reset=wb.start_time() >= 5)).collect()[
        "n"].to_pylist() == [1, 2, 1, 1]


def test_events_without_a_key_may_overlap() -> None:
    rows = {"at": [0, 0, 1], "k": [None, None, "a"], "x": [1, 2, 3]}
    found = wb.from_arrow(rows, time="at").group_by("k").select(n=1 + wb.count().so_far()).collect()
    assert found["n"].to_pylist() == [None, None, 2]


def test_events_of_a_key_that_overlap_are_refused() -> None:
    log = wb.from_arrow({"at": [0, 0, 0], "k": [None, "a", "a"], "x": [1, 2, 3]}, time="at").group_by("k")
    with pytest.raises(KernelError, match="An event of k = 'a' at 0 begins before"):
        log.select(n=wb.count().so_far()).collect()


def test_errors_name_the_part() -> None:
    log = wb.from_arrow({"at": [0, 1], "x": [2**62, 2**62]}, time="at").select("x")
    with pytest.raises(KernelError, match="An integer sum leaves int64") as failed:
        log.select(n=wb.sum(col.x).so_far()).collect()
    assert "so_far(" in failed.value.where


def test_end_edges_repeat_the_values_of_their_start() -> None:
    held = LOG.select("x").hold()
    values = held.select(n=wb.count().so_far()).collect()
    assert values["n"].to_pylist() == list(range(1, ROWS + 1))
    assert values["end"].to_pylist()[:2] == [3, 6]


def streams() -> Stream:
    return LOG.group_by("k").select("k", "at", v=wb.sum(col.x).so_far(), w=WORDS(col.word).so_far(),
                                    m=wb.median(col.x).so_far())


def test_live_rows_are_answered_at_once() -> None:
    query = streams()
    assert query.on(wb.replay(LOG, speed=float("inf"))).collect().equals(query.collect())


def test_lineage_is_all_rows_of_the_key_so_far() -> None:
    found = LOG.group_by("k").select("k", v=wb.sum(col.x).so_far()).lineage(start=36, k="a")
    assert found.events["log"]["at"].to_pylist() == [0, 9, 18, 27, 36]


def test_keys_may_be_answered_apart() -> None:
    source, = (columns for columns in partition_columns(streams().node))
    assert list(source.values()) == ["k"]

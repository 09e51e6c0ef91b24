"""Temporal queries are certified, sampled, traced to their events, and restored, as all queries are.

That Spark gives the same rows is tested with all other queries, in tests/engine/spark/test_parity.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.testing.conformance.restart import Halting

ROWS = 1_200
CHANCE = np.random.default_rng(11)
AT = np.cumsum(CHANCE.integers(1, 4, ROWS))
TABLE = pa.table({"at": AT, "k": CHANCE.integers(0, 3, ROWS), "x": CHANCE.integers(0, 100, ROWS),
                  "seen": AT + CHANCE.integers(0, 30, ROWS)})
FILTER: dict[str, Any] = {"b": [0.5], "a": [1, -0.5]}

large = wb.aggregate(init=0, accumulate=lambda s, x: max(s // 2, x), result=lambda s: s, name="large", forgets=40)


def keyed(log: Stream) -> Stream:
    return log.select("x", "k").group_by("k")


QUERIES: dict[str, Callable[[Stream], Stream]] = {
    "windows": lambda log: log.select("x").where(wb.mean(col.x).past(20) > wb.mean(col.x).past(50)),
    "lookahead": lambda log: log.select(z=col.x - wb.mean(col.x).past(5, ahead=5), c=wb.max(col.x).cell(30)),
    "other times": lambda log: log.select("x", a=col.x.ago(3), p=col.x.previous(), e=col.x.ago(2).exists()),
    "rows": lambda log: log.select("x", m=wb.mean(col.x).past(rows=10).previous()),
    "so_far": lambda log: log.select("x", s=wb.sum(col.x).so_far(), r=wb.max(col.x).so_far(reset=col.x > 90)),
    "user's so_far": lambda log: log.select("x", s=large(col.x).so_far()),
    "filters": lambda log: log.select("x", e=wb.ema(col.x, halflife=9), y=wb.iir(col.x, **FILTER)),
    "over_time": lambda log: log.select("x").hold(limit=9).over_time(m=wb.max(col.x).past(12), x=col.x.ago(4)),
    "over_time, every": lambda log: log.select("x").hold(limit=9).over_time(
        every=10, m=wb.time_mean(col.x).past(25), x=col.x),
    "resampled": lambda log: log.select("x").resample(5, how="linear", limit=20),
    "windows of keys": lambda log: keyed(log).select("k", "x", m=wb.sum(col.x).past(40), a=col.x.ago(3)),
    "rows of keys": lambda log: keyed(log).where(
        col.x > (wb.mean(col.x) + wb.std(col.x)).past(rows=10).previous()),
    "so_far of keys": lambda log: keyed(log).select("k", "x", s=wb.sum(col.x).so_far(reset=col.x < 9)),
    "ema of keys": lambda log: keyed(log).select("k", "x", e=wb.ema(col.x, alpha=0.2).previous()),
    "over_time of keys": lambda log: keyed(log).over_time(m=wb.max(col.x).past(12)),
    "over_time of keys, every": lambda log: keyed(log).over_time(every=10, m=wb.mean(col.x).past(25)),
}
EACH = pytest.mark.parametrize("name", QUERIES)


def history() -> Stream:
    return wb.from_arrow(TABLE.drop_columns("seen"), time="at", name="log")


def rows(table: pa.Table) -> list[Any]:
    return sorted((list(row.values()) for row in table.to_pylist()), key=str)


@EACH
def test_a_backtest_is_certified_by_the_live_log(name: str) -> None:
    query = QUERIES[name](history())
    live = wb.from_arrow(TABLE.sort_by("seen"), time="at", arrival="seen", reorder_latency=30, late="drop", name="log")
    certificate = query.certify(history(), live)
    assert certificate.ok
    assert certificate.late_rows == 0


@EACH
def test_late_rows_explain_all_differences(name: str) -> None:
    query = QUERIES[name](history())
    live = wb.from_arrow(TABLE.sort_by("seen"), time="at", arrival="seen", reorder_latency=12, late="drop", name="log")
    certificate = query.certify(history(), live)
    assert certificate.late_rows > 0
    assert set(certificate.differences["reason"].to_pylist()) == {"late rows"}


@EACH
def test_the_lineage_of_a_value_gives_events_that_suffice(name: str) -> None:
    query = QUERIES[name](history())
    answer = query.collect().to_pylist()
    for row in (answer[3], answer[len(answer) // 2], answer[-1]):
        values = {name: value for name, value in row.items() if name not in ("start", "end")}
        found = query.lineage(values, start=row["start"], end=row["end"], limit=ROWS)
        again = found.rerun().to_pylist()
        for time in {row["start"], row["end"] - 1}:  # of functions of time the value, in pieces that may be shorter
            then = [piece for piece in again if piece["start"] <= time < piece["end"]
                    and all(piece[name] == value for name, value in values.items())]
            assert then, (row, found.events)


BOUNDED = ("windows", "lookahead", "user's so_far", "over_time", "over_time, every", "resampled", "windows of keys",
           "over_time of keys", "over_time of keys, every")
"""The others read an event that may be long ago, or all."""


@pytest.mark.parametrize("name", BOUNDED)
def test_the_lineage_of_a_window_is_not_the_whole_log(name: str) -> None:
    query = QUERIES[name](history())
    row = query.collect().to_pylist()[-40]
    values = {name: value for name, value in row.items() if name not in ("start", "end")}
    found = query.lineage(values, start=row["start"])
    assert 0 < sum(origin.events.num_rows for origin in found.origins) < ROWS / 4


@pytest.mark.share(4)
@EACH
@pytest.mark.parametrize("read", [1, 500, ROWS - 1])
def test_a_run_that_is_restored_goes_on_as_if_nothing_had_been(name: str, read: int, tmp_path: Path) -> None:
    stream = history()
    run = QUERIES[name](Stream(type(stream.node)(Halting(stream.sources[0], read)))).start()
    while run.snapshot().metrics.rows < read:
        pass
    run.pause()
    run.checkpoint(tmp_path / "run")
    shot = run.snapshot()
    before = shot.table.slice(0, shot.settled)
    run.stop(keep=False)
    later = wb.restore(tmp_path / "run", QUERIES[name](history()))
    assert later.wait(60)
    assert rows(pa.concat_tables([before, later.snapshot().table])) == rows(QUERIES[name](history()).collect())


SAMPLED: dict[str, Callable[[Stream], Stream]] = {
    "windows": lambda log: log.select(z=(col.x > wb.mean(col.x).past(20)).cast(int)),
    "lookahead": lambda log: log.select(z=col.x - wb.mean(col.x).past(5, ahead=5)),
    "windows of keys": lambda log: keyed(log).select("k", z=col.x - wb.mean(col.x).past(40)),
    "user's so_far": lambda log: log.select(z=large(col.x).so_far()),
    "over_time, every": lambda log: log.select("x").over_time(every=10, z=wb.mean(col.x).past(25)),
    "resampled": lambda log: log.select(z=col.x).resample(5, how="linear", limit=20),
}


@pytest.mark.share(3)
@pytest.mark.parametrize("name", SAMPLED)
def test_ranges_of_time_are_sampled(name: str) -> None:
    """An estimate of windows over temporal values comes from some ranges of time, with an interval that holds."""
    many = 40_000
    log = wb.from_arrow({"at": np.arange(many), "k": np.arange(many) % 3,
                         "x": np.random.default_rng(4).integers(0, 100, many)}, time="at", name="log")
    query = SAMPLED[name](log).tumbling_window(1 << 20, offset=-100).aggregate(n=wb.count(), m=wb.mean(col.z))
    exact = {row.get("k"): row["m"] for row in query.collect().to_pylist()}
    given, held = 0, 0
    for seed in range(5):
        first = next(query.progressive(at=[0.3], seed=seed))
        assert 0.2 < first.metrics.fraction_read < 0.6
        for row in first.table.to_pylist():
            if row["m_low"] is not None:
                given, held = given + 1, held + (row["m_low"] <= exact[row.get("k")] <= row["m_high"])
    assert given >= 2
    assert held >= given - 1
    last = query.progressive(every="50%", seed=1)
    assert {row.get("k"): row["m"] for row in last.finish().to_pylist()} == pytest.approx(exact, rel=1e-12)

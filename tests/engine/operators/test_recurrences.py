"""Exponential means and recursive filters, against the oracle, Polars and SciPy."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.kernels import tier
from whimbrel.testing.oracle import Event
from whimbrel.testing.oracle import temporal as oracle

ROWS = 2_000
DRAWN = np.random.default_rng(5)
AT = np.cumsum(DRAWN.integers(1, 20, ROWS))
X = DRAWN.normal(size=ROWS).cumsum()
GAPS = DRAWN.random(ROWS) < 0.1
LOG = wb.from_arrow({"at": AT, "x": pa.array(X, mask=GAPS)}, time="at", name="log").select("x")
B, A = [0.0004, 0.0016, 0.0025, 0.0016, 0.0004], [1.0, -3.18, 3.86, -2.11, 0.438]
SECTIONS = [[0.0004, 0.0008, 0.0004, 1.0, -1.48, 0.556], [1.0, 2.0, 1.0, 1.0, -1.7, 0.789]]

PARTS = [
    (wb.ema(col.x, halflife=7), oracle.ema(lambda row: row["x"], 7)),
    (wb.ema(col.x, alpha=0.25), oracle.ema(lambda row: row["x"], alpha=0.25)),
    (wb.iir(col.x, b=[1, 0.5], a=[2, -0.5, 0.25]), oracle.iir(lambda row: row["x"], [1, 0.5], [2, -0.5, 0.25])),
    (wb.iir(col.x, b=[1, 2, 3], a=[2]), oracle.iir(lambda row: row["x"], [1, 2, 3], [2])),
    (wb.iir(col.x, b=[3], a=[2]), oracle.iir(lambda row: row["x"], [3], [2])),
    (wb.iir(col.x, sos=[[1, 2, 1, 1, 0.5, 0.25]]), oracle.iir(lambda row: row["x"], [1, 2, 1], [1, 0.5, 0.25])),
]


def close(found: list[Any], expected: list[Any]) -> bool:
    """Whether values are the same but for rounding, and null in the same places."""
    return len(found) == len(expected) and all(
        one is other is None or (one is not None and one == pytest.approx(other, rel=1e-12, abs=1e-12))
        for one, other in zip(found, expected, strict=True))


def drawn_events(drawn: random.Random) -> list[Event]:
    out: list[Event] = []
    for key in "ab":
        time = drawn.randint(-5, 5)
        for _ in range(20):
            lasts = drawn.choice([1, 2, 5])
            out.append((time, time + lasts, {"x": drawn.choice([None, *range(9)]), "k": key}))
            time += lasts + drawn.choice([0, 0, 1, 6])
    return sorted(out, key=lambda event: event[0])


@pytest.mark.parametrize("compiled", ["interpreted", "fused"])
@pytest.mark.parametrize("number", range(len(PARTS)))
def test_each_is_as_the_oracle_says_at_every_time(number: int, compiled: str) -> None:
    part, means = PARTS[number]
    events = drawn_events(random.Random(number))
    rows = {"at": [start for start, _, _ in events], "until": [end for _, end, _ in events],
            "k": [row["k"] for _, _, row in events], "x": pa.array([row["x"] for _, _, row in events], pa.int64())}
    stream = wb.from_arrow(rows, time="at", end="until").select("x", "k").group_by("k")
    with tier("fused" if compiled == "fused" else "interpreted"):
        found = stream.select("k", v=part, before=part.previous()).collect().to_pylist()
        function = stream.over_time(v=part).collect().to_pylist()
    for key in "ab":
        mine = [event for event in events if event[2]["k"] == key]
        values = [means(mine, start) for start, _, _ in mine]
        assert close([row["v"] for row in found if row["k"] == key], values)
        assert close([row["before"] for row in found if row["k"] == key], [None, *values[:-1]])
        for time in range(-10, 150, 3):
            held = [row["v"] for row in function if row["k"] == key and row["start"] <= time
                    and (row["end"] is None or time < row["end"])]
            assert close(held or [None], [means(mine, time)])


def test_a_mean_is_that_of_polars() -> None:
    frame = pl.DataFrame({"at": AT, "x": pl.Series(X).set(pl.Series(GAPS), None)})
    expected = frame.select(e=pl.col("x").ewm_mean_by("at", half_life="50i"),
                            f=pl.col("x").ewm_mean(alpha=0.1, adjust=False, ignore_nulls=True))
    found = LOG.select(e=wb.ema(col.x, halflife=50), f=wb.ema(col.x, alpha=0.1)).collect()
    assert close(found["e"].to_pylist(), expected["e"].to_list())
    there = np.flatnonzero(~GAPS)
    assert found["f"].take(there).to_pylist() == pytest.approx(expected["f"].gather(there).to_list(), rel=1e-12)
    assert found["f"].null_count == GAPS.sum()


def test_durations_are_in_the_unit_of_the_stream() -> None:
    at = np.datetime64("2024-01-01", "ms") + np.array([0, 10_000, 20_000]).astype("m8[ms]")
    log = wb.from_arrow({"at": at, "x": [0.0, 1.0, 1.0]}, time="at").select("x")
    assert log.select(e=wb.ema(col.x, halflife="10s")).collect()["e"].to_pylist() == pytest.approx([0, 0.5, 0.75])


def test_filters_are_those_of_scipy() -> None:
    signal = pytest.importorskip("scipy.signal")
    found = LOG.select(y=wb.iir(col.x, b=B, a=A), z=wb.iir(col.x, sos=SECTIONS),
                       i=wb.iir(col.x, b=[1, 0, -2, 0, 1], a=[1, -2, 1])).collect().drop_null()
    there = X[~GAPS]
    assert found["y"].to_pylist() == pytest.approx(signal.lfilter(B, A, there).tolist(), rel=1e-12)
    assert found["z"].to_pylist() == pytest.approx(signal.sosfilt(SECTIONS, there).tolist(), rel=1e-12)
    assert found["i"].to_pylist() == pytest.approx(signal.lfilter([1, 0, -2, 0, 1], [1, -2, 1], there).tolist(),
                                                    rel=1e-9)


def test_many_keys_have_a_state_each() -> None:
    keys = np.arange(ROWS) % 1_500
    log = wb.from_arrow({"at": AT, "k": keys, "x": X}, time="at").group_by("k")
    found = log.select("k", "x", y=wb.iir(col.x, b=[1], a=[1, -1]), s=wb.sum(col.x).so_far()).collect()
    assert found["y"].to_pylist() == pytest.approx(found["s"].to_pylist())


def test_explain_tells_if_a_filter_is_unstable() -> None:
    for a, told in (([1, -2, 1], True), ([1, -1.01], True), ([1, -0.99], False), ([2, -1], False)):
        assert ("unstable" in LOG.select(y=wb.iir(col.x, b=[1], a=a)).explain()) is told
    assert "unstable" in LOG.select(y=wb.iir(col.x, sos=[[1, 0, 0, 1, -3, 0]])).explain()


def test_nan_is_a_value() -> None:
    log = wb.from_arrow({"at": [0, 1, 2], "x": [1.0, float("nan"), 2.0]}, time="at").select("x")
    found = log.select(e=wb.ema(col.x, alpha=0.5), y=wb.iir(col.x, b=[1], a=[1, -0.5])).collect()
    assert np.isnan(found["e"].to_numpy()).tolist() == [False, True, True]
    assert np.isnan(found["y"].to_numpy()).tolist() == [False, True, True]


def test_they_nest_and_are_shown_as_they_were_written() -> None:
    step = wb.ema(col.x - col.x.previous(), alpha=0.5)
    assert step.show() == "ema(col.x - col.x.previous(), alpha=0.5)"
    assert wb.iir(col.x, b=[1], a=[1, -0.5]).ago("1s").show() == "iir(col.x, b=[1.0], a=[1.0, -0.5]).ago('1s')"
    log = wb.from_arrow({"at": [0, 1, 2, 3], "x": [1.0, 2.0, 4.0, 4.0]}, time="at").select("x")
    found = log.select(s=step, t=wb.ema(wb.ema(col.x, alpha=0.5), alpha=0.5), m=wb.max(step).so_far()).collect()
    assert found["s"].to_pylist() == [None, 1.0, 1.5, 0.75]
    assert found["t"].to_pylist() == [1.0, 1.25, 2.0, 2.6875]
    assert found["m"].to_pylist() == [None, 1.0, 1.5, 1.5]


def test_values_are_read_at_other_times_row_by_row() -> None:
    log = wb.from_arrow({"at": [0, 4, 11], "x": [2.0, 4.0, 8.0]}, time="at", name="log").select("x")
    query = log.select(e=wb.ema(col.x, alpha=0.5).ago(3), f=wb.ema(col.x, alpha=0.5).ahead(7))
    assert query.collect().select(["e", "f"]).to_pylist() == [
        {"e": None, "f": 3.0}, {"e": 2.0, "f": 5.5}, {"e": 3.0, "f": 5.5}]
    assert "join" not in query.explain()


@pytest.mark.parametrize("taps", [2, 16, 17, 18, 40])
def test_filters_of_any_order_are_those_of_scipy(taps: int) -> None:
    signal = pytest.importorskip("scipy.signal")
    b, a = (DRAWN.normal(size=taps) / taps).tolist(), [2.0, *(DRAWN.normal(size=taps - 1) / taps / 4).tolist()]
    log = wb.from_arrow({"at": AT, "x": X}, time="at").select("x")
    found = log.select(y=wb.iir(col.x, b=b, a=a), z=wb.iir(col.x, b=b, a=[1.0])).collect()
    assert close(found["y"].to_pylist(), signal.lfilter(b, a, X).tolist())
    assert close(found["z"].to_pylist(), signal.lfilter(b, [1.0], X).tolist())


def test_long_gaps_leave_nothing_of_what_was_before() -> None:
    log = wb.from_arrow({"at": [0, 10**6, 10**6 + 1, 2 * 10**18], "x": [1.0, 2.0, 4.0, 8.0]}, time="at").select("x")
    found = log.select(e=wb.ema(col.x, halflife=1)).collect()["e"].to_pylist()
    assert found == [1.0, 2.0, 3.0, 8.0]

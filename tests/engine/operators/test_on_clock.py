"""on_clock with clocks whose drift is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.errors import KernelError, PlanError, SchemaError, WhimbrelError
from whimbrel.plan import Node
from whimbrel.testing.conformance.restart import Halting

SECOND = 1_000_000
RATE = 1_000
"""Samples in a second of the device: one each millisecond."""


def vibration(samples: int = 6 * RATE, rows: int = 1 << 16, halt: int | None = None) -> Any:
    """Samples at 1 kHz by the clock of the device, in microseconds; a run may halt after some rows."""
    times = np.arange(samples) * (SECOND // RATE)
    table = pa.table({"at": pa.array(times, pa.timestamp("us")), "x": np.arange(samples)})
    stream = wb.from_arrow(pa.Table.from_batches(table.to_batches(rows)), time="at", name="vib")
    if halt is not None:
        stream = wb.Stream(Node(Halting(stream.sources[0], halt)))
    return stream.select("x").assume(rate=RATE)


def pairs(rows: list[tuple[int, int, int]], **options: Any) -> Any:
    """Device time of each pair, number of the sample, and its reference time, all times in microseconds."""
    at, number, gps = (list(column) for column in zip(*rows, strict=True))
    return wb.from_arrow(pa.table({"at": pa.array(at, pa.timestamp("us")), "sample": pa.array(number, pa.int64()),
                                   "gps": pa.array(gps, pa.timestamp("us"))}), time="at", **options).drop("at")


def timed(of: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Times of samples in ticks, and their numbers."""
    table = of.collect()
    start = table["start"]
    return np.asarray(start.cast(pa.int64()) if pa.types.is_timestamp(start.type) else start), np.asarray(table["x"])


def on_gps(samples: Any, rows: Any, **options: Any) -> Any:
    return samples.on_clock(rows, index="sample", time="gps", **options)


ORIGIN = 1_700_000_000 * SECOND
FAST = [(second * SECOND, second * RATE, ORIGIN + second * (SECOND - 200)) for second in range(6)]
"""A second of the device, by which 1,000 samples are counted, is 200 us shorter: its clock is 200 ppm fast."""


def test_a_device_that_is_fast_is_on_the_reference_line() -> None:
    times, numbers = timed(on_gps(vibration(), pairs(FAST)))
    true = ORIGIN + numbers * (1_000 - 0.2)
    assert numbers.tolist() == list(range(1, 6 * RATE))
    assert (np.diff(times) >= 1).all()
    assert np.abs(times - true)[numbers <= RATE].max() <= 200
    assert np.abs(times - true)[numbers > RATE + 500].max() <= 0.5


@pytest.mark.parametrize("slew", [100, 500, 2_500.5])
def test_an_error_is_slewed_at_the_limit(slew: float) -> None:
    """At the second pair the device is 200 us ahead of the line."""
    times, numbers = timed(on_gps(vibration(), pairs(FAST), slew=slew))
    error = times - (ORIGIN + numbers * 999.8)
    began = numbers > RATE
    expected = np.maximum(0, 200.2 - (numbers[began] - RATE - 1) * slew / 1_000)
    assert np.abs(error[began] - expected).max() <= 2


def test_a_forward_step_is_a_gap() -> None:
    stepped = [(at, number, gps + (5_000 if number >= 3 * RATE else 0)) for at, number, gps in FAST]
    times, numbers = timed(on_gps(vibration(), pairs(stepped), step="1ms"))
    gaps = np.flatnonzero(np.diff(times) > 1_500)
    assert numbers[gaps].tolist() == [3 * RATE]
    assert times[gaps + 1].tolist() == [ORIGIN + 3 * (SECOND - 200) + 5_000 + 1_000]
    assert set(np.diff(times).tolist()) <= {999, 1_000, 6_000}


def test_a_backward_step_is_an_error_that_names_both_times() -> None:
    back = [(at, number, gps - (5_000 if number >= 3 * RATE else 0)) for at, number, gps in FAST]
    with pytest.raises(KernelError, match=r"moves sample 3001 back, from .*22:13:23\.000400 to .*22:13:22\.995400"):
        on_gps(vibration(), pairs(back), step="1ms").collect()
    times, _ = timed(on_gps(vibration(), pairs(back)))
    assert (np.diff(times) >= 1).all()


@pytest.mark.parametrize("rows", [1, 7, 1_000, 4_096])
def test_batches_change_nothing(rows: int) -> None:
    whole = on_gps(vibration(3 * RATE), pairs(FAST)).collect()
    assert on_gps(vibration(3 * RATE, rows), pairs(FAST)).collect().equals(whole)


def test_pairs_act_on_later_samples_only() -> None:
    """Pairs that are known a second late change nothing before that."""
    late = [(at + SECOND, number, gps) for at, number, gps in FAST]
    times, numbers = timed(on_gps(vibration(), pairs(late)))
    assert numbers[0] == RATE + 1
    assert times[0] == ORIGIN + SECOND + 1_000  # one pair: the period of the samples
    times, numbers = timed(on_gps(vibration(), pairs(late[:2])))
    again, _ = timed(on_gps(vibration(), pairs([*late[:2], (5 * SECOND, 4_900, ORIGIN + 5 * SECOND)])))
    before = numbers <= 5 * RATE
    assert (times[before] == again[before]).all()
    assert (times[~before] != again[~before]).any()


def test_late_pairs_follow_the_policy() -> None:
    arrived = [FAST[0], FAST[2], FAST[1], FAST[3]]
    sorted_in = on_gps(vibration(), pairs(arrived, reorder_latency="2s"))
    assert sorted_in.collect().equals(on_gps(vibration(), pairs(FAST[:4])).collect())
    dropped = on_gps(vibration(), pairs(arrived, reorder_latency=0, late="drop"))
    assert dropped.collect().equals(on_gps(vibration(), pairs([FAST[0], FAST[2], FAST[3]])).collect())


def test_samples_before_the_first_pair_are_left_out() -> None:
    assert timed(on_gps(vibration(), pairs([(2_000_500, 0, ORIGIN)])))[1].tolist() == list(range(2_001, 6_000))
    assert on_gps(vibration(10), pairs([(SECOND, 0, ORIGIN)])).collect().num_rows == 0


def test_missing_samples_keep_the_times_of_others() -> None:
    whole, numbers = timed(on_gps(vibration(), pairs(FAST)))
    kept = vibration().where(wb.col.x % 3 != 1)
    some, there = timed(on_gps(kept, pairs(FAST)))
    assert (whole[np.isin(numbers, there)] == some).all()


def test_times_rise_by_a_tick_at_least() -> None:
    """A line of one and a half ticks for each sample leaves room for half a tick of slewing."""
    signal = wb.from_arrow({"at": range(0, 40, 2), "x": range(20)}, time="at").drop("at").assume(periodic=2)
    given = wb.from_arrow({"at": [0, 20], "sample": [0, 10], "gps": [0, 15]}, time="at").drop("at")
    times, _ = timed(on_gps(signal, given, slew=10_000_000))
    assert np.diff(times).tolist() == [2] * 10 + [1] * 8


def test_a_pair_for_each_sample_does_not_stop_slewing() -> None:
    """An error of two ticks, of which a sample corrects a part of 200."""
    given = pairs([(10 * number, number, ORIGIN + 11 * number) for number in range(10_000)])
    signal = wb.from_arrow({"at": pa.array(range(0, 100_000, 10), pa.timestamp("us")), "x": range(10_000)},
                           time="at").select("x").assume(periodic="10us")
    times, numbers = timed(on_gps(signal, given))
    assert numbers[-1] == 9_999
    assert (times == ORIGIN + 11 * numbers)[numbers > 500].all()


def test_units_of_both_become_one() -> None:
    fine = wb.from_arrow(pa.table({
        "at": pa.array([at * 1_000 for at, _, _ in FAST], pa.timestamp("ns")),
        "sample": [number for _, number, _ in FAST],
        "gps": pa.array([gps for _, _, gps in FAST], pa.timestamp("us"))}), time="at").drop("at")
    exact, _ = timed(on_gps(vibration(), fine))
    coarse, _ = timed(on_gps(vibration(), pairs(FAST)))
    assert np.abs(exact - coarse * 1_000).max() <= 1_500


def test_a_run_resumes_after_a_checkpoint(tmp_path: Path) -> None:
    run = on_gps(vibration(halt=2_500), pairs(FAST)).start()
    while run.snapshot().metrics.rows < 2_500 + len(FAST):
        pass
    run.checkpoint(tmp_path / "run")
    before = run.snapshot()
    query = on_gps(vibration(), pairs(FAST))
    later = wb.restore(tmp_path / "run", query)
    assert later.wait(30)
    assert 2_000 < before.settled < 2_500
    rows = pa.concat_tables([before.table.slice(0, before.settled), later.snapshot().table])
    assert rows.equals(query.collect())


def bare(**columns: Any) -> Any:
    return wb.from_arrow(pa.table({"at": [0, 10]} | columns), time="at").drop("at")


SIGNAL = wb.from_arrow({"at": range(0, 40, 2), "x": range(20)}, time="at").drop("at").assume(periodic=2)
GOOD = bare(sample=[0, 5], gps=[0, 10])


@pytest.mark.parametrize(("mistake", "error", "says"), [
    (lambda: on_gps(GOOD, GOOD), PlanError, "The stream must have samples at a fixed rate."),
    (lambda: on_gps(SIGNAL.group_by("x").assume(periodic=2, gaps=True, per="x"), GOOD), PlanError,
     "on_clock() needs one signal, got one for each x."),
    (lambda: on_gps(SIGNAL, GOOD, slew=-1), PlanError, "slew must be a number of parts per million, not negative"),
    (lambda: on_gps(SIGNAL, GOOD, slew=float("nan")), PlanError, "slew must be a number"),
    (lambda: on_gps(SIGNAL, GOOD, step=-1), PlanError, "step must not be negative, got -1."),
    (lambda: on_gps(SIGNAL, GOOD.drop("gps")), SchemaError, "gps"),
    (lambda: on_gps(SIGNAL, GOOD.drop("sample")), SchemaError, "sample"),
    (lambda: on_gps(SIGNAL, bare(sample=[0.5, 1.5], gps=[0, 10])), SchemaError, "must be a column of integers"),
    (lambda: on_gps(SIGNAL, bare(sample=[0, 5], gps=["a", "b"])), SchemaError, "must be a column of int64, got string"),
    (lambda: on_gps(vibration(), pairs(FAST).with_columns(gps=wb.col.gps.cast("timestamp[ns]"))), SchemaError,
     "must be a column of int64 or a timestamp in us or coarser"),
    (lambda: on_gps(SIGNAL, bare(sample=[5, 4], gps=[0, 10])).collect(), KernelError,
     "Clock pairs go back: sample 5 at 0, then sample 4 at 10."),
    (lambda: on_gps(SIGNAL, bare(sample=[0, 5], gps=[10, 9])).collect(), KernelError,
     "Clock pairs go back: sample 0 at 10, then sample 5 at 9."),
    (lambda: on_gps(SIGNAL, bare(sample=[0, 5], gps=[10, 13])).collect(), KernelError,
     "Clock pairs have more than one sample per tick"),
])
def test_mistakes_are_named(mistake: Any, error: type[WhimbrelError], says: str) -> None:
    with pytest.raises(error) as found:
        mistake()
    assert says in found.value.what


def test_results_join_other_events_of_the_reference_clock() -> None:
    others = wb.from_arrow({"at": [102, 104], "y": [1, 2]}, time="at").drop("at")
    pair = bare(sample=[0, 5], gps=[100, 110])
    joined = on_gps(SIGNAL, pair).cross_join(others, allow_lookahead=True)
    assert joined.collect().select(["start", "x", "y"]).to_pylist() == [
        {"start": 102, "x": 1, "y": 1}, {"start": 104, "x": 2, "y": 2}]


def test_pairs_with_a_null_are_left_out() -> None:
    with_null = bare(sample=pa.array([0, None], pa.int64()), gps=[100, 3])
    assert on_gps(SIGNAL, with_null).collect().equals(on_gps(SIGNAL, bare(sample=[0, 5], gps=[100, 110])).collect())

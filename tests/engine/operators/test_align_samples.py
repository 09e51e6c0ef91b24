"""Rows of a periodic stream start at the exact times of their samples; columns keep what was measured."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import KernelError, PlanError, WhimbrelError
from whimbrel.operators import AlignSamples
from whimbrel.plan import Node
from whimbrel.testing.oracle import lifetimes


def log(times: list[int], *, unit: str | None = None, batch_rows: int = 10_000, **columns: list[Any]) -> wb.Stream:
    at = pa.array(times, pa.int64())
    table = pa.table({"at": at if unit is None else at.cast(pa.timestamp(unit)), **columns})
    batches = pa.Table.from_batches(table.to_batches(max_chunksize=batch_rows), table.schema)
    return wb.from_arrow(batches, time="at", end="until" if "until" in columns else None)


def starts(stream: wb.Stream, **options: Any) -> list[int]:
    return stream.collect(**options)["start"].cast(pa.int64()).to_pylist()


def exact(rate: Fraction, samples: range, ticks: int) -> list[int]:
    """Times of samples, halves rounded up."""
    return [int((2 * sample * ticks / rate + 1) // 2) for sample in samples]


RATES = {"ECG": (360, "us"), "speech": (44_100, "ns"), "film": ("24000/1001", "ns"), "vibration": (20_480, "us"),
         "slow": ("0.1", "s"), "each tick": (1_000, "ms")}


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("first", [0, -7, 1_600_000_000])
def test_a_signal_of_any_rate_stays_where_it_is(name: str, first: int) -> None:
    rate, unit = RATES[name]
    times = [first + time for time in exact(Fraction(rate), range(10_000), {"s": 1, "ms": 10**3, "us": 10**6,
                                                                           "ns": 10**9}[unit])]
    table = log(times, unit=unit).assume(rate=rate).collect()
    assert table["start"].equals(table["at"])


def test_times_rounded_in_another_way_are_moved_by_one_tick() -> None:
    half_even = [round(Fraction(10**6 * sample, 16_000)) for sample in range(1_000)]
    assert half_even != exact(Fraction(16_000), range(1_000), 10**6)
    stream = log(half_even, unit="us").assume(rate=16_000)
    assert starts(stream) == exact(Fraction(16_000), range(1_000), 10**6)
    assert stream.collect()["at"].cast(pa.int64()).to_pylist() == half_even


@pytest.mark.parametrize("batch_rows", [1, 7, 10_000])
@pytest.mark.parametrize("seed", range(6))
def test_random_signals_are_as_the_oracle_says(seed: int, batch_rows: int) -> None:
    drawn = random.Random(seed)
    period = Fraction(drawn.randint(40, 200), drawn.choice([1, 2, 3, 7]))
    jitter, phase = drawn.randint(0, int(period / 2) - 1), drawn.choice([None, -3, 10**6])
    signals = {}
    for key in "abc":
        first = drawn.randint(0, 30) if phase is None else phase
        signals[key] = [(first + int(sample * period + Fraction(1, 2))
                         + (drawn.randint(-jitter, jitter) if sample or phase is not None else 0),
                         drawn.randint(1, int(period) - 2 * jitter)) for sample in range(60) if drawn.random() < 0.9]
    rows = sorted((at, key, at + lasts) for key, events in signals.items() for at, lasts in events)
    stream = log([at for at, _, _ in rows], until=[until for _, _, until in rows], k=[key for _, key, _ in rows],
                 batch_rows=batch_rows)
    aligned = wb.Stream(Node(AlignSamples(period=period, phase=phase, gaps=True, jitter=jitter,
                                          per=frozenset("k")), (stream.node,)))
    expected = lifetimes.align_samples([(at, until, {"k": key}) for at, key, until in rows], period, phase=phase,
                                       jitter=jitter, gaps=True, per=lambda row: row["k"])
    found = aligned.collect().select(["start", "end", "k"]).to_pylist()
    assert sorted((row["start"], row["end"], row["k"]) for row in found) == sorted(
        (start, end, row["k"]) for start, end, row in expected)
    assert [row["start"] for row in found] == sorted(row["start"] for row in found)


BAD = {
    "too far": ([0, 10, 23, 30], {"jitter": 2}, "An event at 23 is 3 from sample 2, at 20; at most 2 is allowed.",
                "Remove the assumption, fix the data, or allow more with jitter=."),
    "two of one sample": ([0, 10, 19, 20], {"jitter": 2},
                          "An event at 20 is sample 2, at 20, as an event before it is.",
                          "Remove one of the two; if several signals are mixed, name their key in per=."),
    "one is missing": ([0, 10, 30], {"jitter": 2},
                       "An event at 30 is sample 3, at 30, but sample 2, at 20, is missing.",
                       "Add gaps=True if samples may be missing."),
    "off the phase": ([0, 10], {"phase": 3}, "An event at 0 is 3 from sample 0, at 3; at most 0 is allowed.",
                      "Remove the assumption, fix the data, or allow more with jitter=."),
    "between two": ([5, 15], {"phase": 0, "gaps": True}, "An event at 5 is 5 from sample 1, at 10; at most 0",
                    "Remove the assumption"),
    "huge": ([-2**62, 2**62 + 2**61], {"gaps": True}, "is too far from sample 0, at", "Drop such placeholder times"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("batch_rows", [1, 100])
def test_an_error_names_the_row_and_the_sample(name: str, batch_rows: int) -> None:
    times, options, words, hint = BAD[name]
    with pytest.raises(KernelError) as failed:
        log(times, batch_rows=batch_rows).assume(periodic=10, **options).collect()
    assert words in failed.value.what
    assert hint in failed.value.hint


def test_an_error_names_the_key_and_the_time_of_the_stream() -> None:
    times = pa.array([-3_600, -3_595, -3_588], pa.timestamp("s", "Etc/GMT-1"))
    with pytest.raises(KernelError, match=r"An event of k = 'b' at 1970-01-01 00:00:12\+01:00 is 7s from sample 0"):
        wb.from_arrow(pa.table({"at": times, "k": ["a", "b", "b"]}), time="at").assume(
            periodic="20s", jitter="6s", gaps=True, per="k").collect()


WRONG = {
    "no unit": (lambda s: s.assume(rate=5), "rate= needs times with a unit", "Add the unit of the times"),
    "two periods": (lambda s: s.assume(rate=5, periodic=5), "cannot combine rate= and periodic=", "Remove one"),
    "no period": (lambda s: s.assume(gaps=True), "need a rate or a period", "Add rate= or periodic=."),
    "wide jitter": (lambda s: s.assume(periodic=10, jitter=5), "less than half of the period, got 5",
                    "Use a lower rate"),
    "negative jitter": (lambda s: s.assume(periodic=10, jitter=-1), "at least 0", "Use a lower rate"),
    "unknown key": (lambda s: s.assume(periodic=10, gaps=True, per="z"), "'z'", ""),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_assumption_is_refused(name: str) -> None:
    build, words, hint = WRONG[name]
    with pytest.raises(WhimbrelError) as failed:
        build(log([0, 10]))
    assert words in str(failed.value)
    assert hint in str(failed.value)


@pytest.mark.parametrize("rate", [0, -5, True, "x", float("nan"), float("inf"), "1/0", None.__class__, 2_000])
def test_a_wrong_rate_is_refused(rate: Any) -> None:
    with pytest.raises(PlanError, match="rate"):
        log([0, 10], unit="ms").assume(rate=rate)


def test_what_lasts_until_about_the_next_sample_lasts_until_the_next_sample() -> None:
    at, until = [0, 11, 19, 30], [11, 19, 30, 33]
    table = log(at, until=until).assume(periodic=10, jitter=1).collect()
    assert list(zip(table["start"].to_pylist(), table["end"].to_pylist(), strict=True)) == [
        (0, 10), (10, 20), (20, 30), (30, 33)]


@pytest.mark.parametrize("duration", [1, 4, 10])
def test_a_known_duration_stays_known_and_true(duration: int) -> None:
    stream = log([0, 11, 19, 30]).set_duration(duration).assume(periodic=10, jitter=1)
    assert stream.node.properties.duration == duration
    assert {row["end"] - row["start"] for row in stream.collect().to_pylist()} == {duration}


def test_a_duration_that_may_change_is_not_known() -> None:
    stream = log([0, 11, 19, 30]).set_duration(9).assume(periodic=10, jitter=1)
    assert stream.node.properties.duration is None
    assert stream.collect()["end"].to_pylist() == [10, 20, 29, 40]


def test_an_event_never_ends_at_its_own_sample() -> None:
    table = log([0, 3, 6]).set_duration(2).assume(periodic=3, phase=1, gaps=True, jitter=1).collect()
    assert list(zip(table["start"].to_pylist(), table["end"].to_pylist(), strict=True)) == [(1, 3), (4, 6), (7, 9)]


def test_events_that_touch_still_touch_where_samples_are_missing() -> None:
    table = log([0, 31], until=[31, 40]).assume(periodic=10, jitter=2, gaps=True).collect()
    assert list(zip(table["start"].to_pylist(), table["end"].to_pylist(), strict=True)) == [(0, 30), (30, 40)]


def test_events_that_overlap_are_refused() -> None:
    with pytest.raises(KernelError, match="An event at 10 begins before the one before it has ended"):
        log([0, 10], until=[14, 20]).assume(periodic=10, jitter=1).collect()


@pytest.mark.parametrize("options", [{}, {"phase": 7}])
def test_a_stream_with_gaps_has_places_for_a_loop(options: dict[str, Any]) -> None:
    times = [7 + 10 * sample for sample in range(2_000) if sample % 9]
    stream = log(times, x=list(range(len(times))))
    loop, plain = (each.sliding_window(100).aggregate(m=wb.mean(col.x), n=wb.count())
                   for each in (stream.assume(periodic=10, gaps=True, **options), stream))
    assert "periodic_loop" in loop.explain()
    assert loop.collect().equals(plain.collect())
    assert loop.collect(threads=2).equals(plain.collect())


def test_ranges_of_time_run_in_parallel_where_the_phase_is_known() -> None:
    times = [40_000 + 10 * sample + sample % 3 for sample in range(20_000)]
    stream, expected = log(times), list(range(40_000, 240_000, 10))
    assert starts(stream.assume(periodic=10, jitter=2, phase=0), threads=2) == expected
    assert stream.assume(periodic=10, jitter=2, phase=0).node.reach is not None
    assert starts(stream.assume(periodic=10, jitter=2), threads=2) == expected
    assert stream.assume(periodic=10, jitter=2).node.reach is None


def test_a_late_row_that_was_dropped_is_a_gap() -> None:
    feed = wb.from_arrow({"at": [0, 10, 40, 20, 30, 50]}, time="at", reorder_latency=10, late="drop")
    aligned = feed.assume(periodic=10, gaps=True)
    assert starts(aligned) == [0, 10, 30, 40, 50]
    with pytest.raises(KernelError, match=r"sample 2, at 20, is missing"):
        feed.assume(periodic=10, jitter=1).collect()


def test_the_most_that_fits_in_int64() -> None:
    times = [-2**62, 0, 2**62 - 2**10]
    assert starts(log(times).assume(periodic=2**10, gaps=True, phase=0)) == times


def test_many_samples_do_not_drift() -> None:
    later = exact(Fraction(44_100), range(10**12, 10**12 + 1_000), 10**9)
    assert starts(log(later, unit="ns").assume(rate=44_100, phase="1970-01-01")) == later
    assert np.unique(np.diff(later)).tolist() == [22_675, 22_676]


def test_a_plan_knows_the_samples_until_an_operator_moves_starts() -> None:
    rows = {"at": pa.array([0, 2778, 8333], pa.timestamp("us")), "k": ["a", "a", "a"], "x": [1, 2, 3]}
    signal = wb.from_arrow(rows, time="at").assume(rate=360, gaps=True, per="k")

    def known(stream: wb.Stream) -> str:
        sampling = stream.node.properties.sampling
        return "" if sampling is None else sampling.show()

    assert known(signal) == "samples every 25000/9 per k with gaps"
    assert known(signal.select(key=col.k, x=col.x).where(col.x > 1)) == "samples every 25000/9 per key with gaps"
    assert known(signal.select("x")) == ""
    assert known(signal.shift("1ms").set_duration("1ms")) == "samples every 25000/9 per k with gaps"
    assert known(signal.hopping_window("1s", "1s")) == ""


def test_integer_times_have_the_unit_of_their_column() -> None:
    """The samples of a table whose time column is ``t_us`` of int64."""
    at = [number * 25_000 // 9 for number in range(720)]
    ecg = wb.from_arrow({"t_us": at, "x": range(720)}, time="t_us").where(col.x >= 0).assume(rate=360, gaps=True)
    assert (ecg.schema.unit, ecg.collect().schema.field("start").type) == ("us", pa.timestamp("us"))
    assert ecg.collect()["t_us"].to_pylist() == at
    epochs = ecg.where(col.x == 360).select(n=col.x).sync(ecg.select("x"), before="250ms", after="400ms").collect()
    assert epochs["x"].to_pylist() == [{"index": 270, "samples": list(range(270, 504))}]
    assert ecg.between("1970-01-01T00:00:01", "1970-01-01T00:00:01.5").collect_samples()["x"].tolist() == list(
        range(360, 540))


def test_the_unit_of_integer_times_can_be_given() -> None:
    rows = wb.from_arrow({"at": [0, 2, 5, 8], "k": [1, 1, 1, 1], "x": [1, 2, 3, 4]}, time="at")
    aligned = rows.assume(rate=360, unit="ms", jitter="1ms", per="k")
    assert aligned.collect()["start"].cast(pa.int64()).to_pylist() == [0, 3, 6, 8]


@pytest.mark.parametrize(("options", "says"), [
    ({"rate": 5, "unit": "h"}, "unit must be 's', 'ms', 'us' or 'ns', got 'h'"),
    ({"periodic": 5, "unit": "us"}, "unit= needs rate="),
])
def test_a_wrong_unit_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(WhimbrelError, match=says):
        log([0, 10]).assume(**options)
    times = pa.array([0, 1_000], pa.timestamp("us"))
    with pytest.raises(WhimbrelError, match="is for integer times, and these are in us"):
        wb.from_arrow(pa.table({"at": times}), time="at").assume(rate=1000, unit="ns")

"""Detectors of ranges above a threshold: known truth, gaps, blocks, and mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.laws.test_signals import DETECTORS, stream
from whimbrel import col
from whimbrel.errors import ExpressionError, PlanError
from whimbrel.kernels import tier
from whimbrel.operators import AlignSamples
from whimbrel.plan import Node, Sampling
from whimbrel.testing import Query


def signal(values: Any, **options: Any) -> wb.Stream:
    return wb.from_arrow({"at": range(len(values)), "x": values}, time="at").assume(periodic=1, **options)


def spans(stream: wb.Stream) -> list[tuple[Any, ...]]:
    return [(row["start"], row["end"], row["samples"]) for row in stream.collect().to_pylist()]


def test_the_queries_of_the_laws_find_ranges() -> None:
    for name, (samples, _, found) in DETECTORS.items():
        assert sum(len(found(Query((samples,)).reference(stream(seed)))) for seed in range(20)) > 10, name


def test_hysteresis_hold_min_and_padding() -> None:
    log = signal([0, 5, 3, 0, 5, 0, 0, 0, 5, 5, 0])
    assert spans(log.above(col.x, 4)) == [(1, 2, 1), (4, 5, 1), (8, 10, 2)]
    assert spans(log.above(col.x, 4, off=2)) == [(1, 3, 2), (4, 5, 1), (8, 10, 2)]
    assert spans(log.above(col.x, 4, hold=2)) == [(1, 5, 4), (8, 10, 2)]
    assert spans(log.above(col.x, 4, min=2)) == [(8, 10, 2)]
    assert spans(log.above(col.x, 4, pad=1)) == [(0, 6, 2), (7, 11, 2)]
    assert spans(log.above(col.x, 4, pad=2)) == [(-1, 12, 4)]


def test_a_gap_and_nan_end_a_range() -> None:
    gap = wb.from_arrow({"at": [0, 1, 3, 4], "x": [5, 5, 5, 0]}, time="at").assume(periodic=1, gaps=True)
    assert spans(gap.above(col.x, 4, hold=9)) == [(0, 2, 2), (3, 4, 1)]
    assert spans(signal([5.0, float("nan"), 5.0]).above(col.x, 4, hold=9)) == [(0, 1, 1), (2, 3, 1)]


LEVELS = [0, 0, 9, 9, None, 9, 0, 9]


@pytest.mark.parametrize("period", [5, Fraction(50, 9)])
@pytest.mark.parametrize("hop", [2, 3])
def test_a_window_that_was_left_out_ends_a_range(hop: int, period: Fraction) -> None:
    """Values of windows are samples of a lower rate, and windows at gaps are missing samples."""
    values = np.repeat([-1 if level is None else level for level in LEVELS], hop)
    times = [int(number * period + Fraction(1, 2)) for number in range(len(values))]
    rows = wb.from_arrow({"at": [times[number] for number in np.flatnonzero(values >= 0)],
                          "x": values[values >= 0]}, time="at").drop("at")
    node = AlignSamples(period=Fraction(period), gaps=True, jitter=1)
    windows = wb.Stream(Node(node, (rows.node,))).rewindow(2, hop).select(m=col.x.seg.mean())
    assert windows.node.properties.sampling == Sampling(period * hop)
    assert [row["samples"] for row in windows.above(col.m, on=5).collect().to_pylist()] == [2, 1, 1]
    steps = windows.with_columns(d=wb.iir(col.m, b=[1], a=[1, -1])).collect()["d"].to_pylist()
    assert steps == [0, 0, 9, 18, 9, 9, 18]


def test_values_of_windows_have_the_keys_of_their_signals() -> None:
    rows = {"at": [number for number in range(16) for _ in "ab"], "k": ["a", "b"] * 16,
            "x": [9 if number in (4, 5, 6, 7) and key == "a" else 1 for number in range(16) for key in "ab"]}
    signals = wb.from_arrow(rows, time="at").drop("at").assume(periodic=1, per="k")
    loud = signals.rewindow(2).select("k", m=col.x.seg.max()).above(col.m, on=5)
    assert loud.collect().to_pylist() == [{"start": 4, "end": 8, "k": "a", "peak": 9.0, "samples": 2}]


def test_a_stream_without_a_rate_has_ranges_up_to_the_ends_of_its_events() -> None:
    log = wb.from_arrow({"at": [0, 9, 30], "until": [5, 20, 31], "x": [5, 5, 0]}, time="at", end="until")
    assert spans(log.above(col.x, 4)) == [(0, 20, 2)]


def test_statistics_are_frozen_during_a_range_and_begin_again_after_the_limit() -> None:
    noise = [1, -1] * 10
    call = [*noise, *[50] * 5, *noise]
    assert spans(signal(call).cfar(col.x, deviations=6, startup=10)) == [(20, 25, 5)]
    # A new level is one range until the limit. After that it is the mean.
    level = [*noise, *[50 + each for each in noise], 500, *[50 + each for each in noise]]
    assert spans(signal(level).cfar(col.x, deviations=6, startup=10)) == [(20, 61, 41)]
    assert spans(signal(level).cfar(col.x, deviations=6, startup=10, limit=5)) == [(20, 25, 5), (40, 41, 1)]


def test_calls_in_noise_are_found_where_they_were_put() -> None:
    drawn = np.random.default_rng(7)
    scores = abs(drawn.normal(size=20_000))
    for begin in (3_000, 9_000, 15_000):
        scores[begin:begin + 200] += 40
    found = signal(scores).cfar(col.x, deviations=16, startup=300, hold=40, pad=100)
    with tier("fused"):
        assert [row[:2] for row in spans(found)] == [(begin - 100, begin + 300) for begin in (3_000, 9_000, 15_000)]


def test_keys_that_samples_have_need_no_group_by() -> None:
    rows = {"at": [0, 0, 1, 1], "k": ["a", "b", "a", "b"], "x": [5, 0, 5, 0]}
    log = wb.from_arrow(rows, time="at").assume(periodic=1, gaps=True, per="k")
    assert log.above(col.x, 4).collect().to_pylist() == [{"start": 0, "end": 2, "k": "a", "peak": 5.0, "samples": 2}]
    assert log.above(col.x, 4).node.properties.causal is False


LOG = signal([1, 2])


@pytest.mark.parametrize(("mistake", "says"), [
    (lambda: LOG.above(col.x, 1, off=2), "off must be at most on, got off=2."),
    (lambda: LOG.above(col.x, float("nan")), "on must be a finite number, got nan."),
    (lambda: LOG.above(col.x, 1, hold=-1), "hold must be a number of samples, at least 0, got -1."),
    (lambda: LOG.above(col.x, 1, min=0), "min must be a number of samples, at least 1, got 0."),
    (lambda: LOG.above(col.x, 1, pad=-1), "pad must not be negative"),
    (lambda: LOG.cfar(col.x, deviations=1, forget=0), "forget must be above 0 and at most 1, got 0."),
    (lambda: LOG.cfar(col.x, deviations=1, startup=0), "startup must be a number of samples, at least 1, got 0."),
    (lambda: LOG.cfar(col.x, deviations=1, limit=0), "limit must be positive, got 0."),
    (lambda: LOG.cfar(col.x, deviations="16"), "deviations must be a finite number, got '16'."),  # type: ignore[arg-type]
])
def test_mistakes_are_reported(mistake: Callable[[], object], says: str) -> None:
    with pytest.raises(PlanError, match=re.escape(says)):
        mistake()


def test_only_numbers_have_ranges() -> None:
    with pytest.raises(ExpressionError, match="A detector needs numbers, got string"):
        wb.from_arrow({"at": [0], "s": ["a"]}, time="at").above(col.s, 1)


def test_a_large_time_is_refused_rather_than_wrapped() -> None:
    log = wb.from_arrow({"at": pa.array([2**62 + 1], pa.int64()), "x": [5]}, time="at")
    with pytest.raises(wb.WhimbrelError):
        log.above(col.x, 1).collect()

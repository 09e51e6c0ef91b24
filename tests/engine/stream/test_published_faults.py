"""Faults of the published suite of applications (TiLT, ASPLOS 2023), each with a test that finds it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from bench import applications_in_expressions as expressions
from bench import applications_in_operators as operators
from whimbrel import Stream, col

CHUNK = 100
"""Rows that the published suite works on at once."""

ASSUMED = pytest.mark.parametrize("assumed", [True, False], ids=["periodic", "as it is"])


def log(x: Any, chunk: int | None = None, first: int = 0, *, assumed: bool = False) -> Stream:
    table = pa.table({"at": first + np.arange(len(x)), "x": x})
    table = table if chunk is None else pa.Table.from_batches(table.to_batches(max_chunksize=chunk))
    stream = wb.from_arrow(table, time="at", name="log")
    return (stream.assume(periodic=1) if assumed else stream).select("x")


@ASSUMED
def test_a_chunk_has_the_history_of_the_chunks_before(assumed: bool) -> None:
    """The first 14 steps of each chunk were lost, and the sums went wrong from tick 100 on."""
    x = np.random.default_rng(5).uniform(-50, 50, 5 * CHUNK)
    for form in (expressions, operators):
        whole, parts = (form.strength(log(x, size, assumed=assumed)).collect() for size in (None, CHUNK))
        assert whole["z"].to_pylist()[1:] == parts["z"].to_pylist()[1:]  # nan where there is no step yet
    steps = np.diff(x)
    by_hand = [100 - 100 / (1 + steps[at - 14:at].clip(0).sum() / -steps[at - 14:at].clip(max=0).sum())
               for at in range(14, len(x))]
    found = expressions.strength(log(x, CHUNK, assumed=assumed)).collect()["z"].to_numpy()
    np.testing.assert_allclose(found[14:], by_hand, rtol=1e-9)


@ASSUMED
@pytest.mark.parametrize("aggregate", [wb.sum, wb.mean, wb.std, wb.var], ids=lambda each: each.__name__)
def test_a_window_does_not_depend_on_events_that_have_left(aggregate: Any, assumed: bool) -> None:
    """Sums that were added to and subtracted from drifted, the more the longer they ran.

    A window at t has the same bits, whatever was before, and at whatever multiple of its width the stream began. So
    the values after 10^8 events are those after few.
    """
    width, rows = 50, 400
    x = np.random.default_rng(6).uniform(-50, 50, rows)
    before = np.random.default_rng(7).uniform(-1e12, 1e12, 20 * width)
    query = aggregate(col.x).past(width)
    alone = log(x, assumed=assumed).select(z=query).collect()["z"].to_numpy()[width:]
    for history, first in ((before, 0), (before[:0], 10**8 * width), (before, 10**8 * width)):
        stream = log(np.concatenate([history, x]), first=first, assumed=assumed)
        later = stream.select(z=query).collect()["z"].to_numpy()[len(history) + width:]
        assert alone.tobytes() == later.tobytes()


@ASSUMED
def test_a_window_sum_is_the_exact_one_but_for_its_own_roundings(assumed: bool) -> None:
    """A running sum of tenths keeps the rounding of a large value for ever; here only windows that have it do."""
    width, x = 10, np.full(20_000, 0.1)
    x[[5, 10_000]] = 1e17
    found = log(x, assumed=assumed).select(z=wb.sum(col.x).past(width)).collect()["z"].to_numpy()
    without = np.ones(len(x), np.bool_)
    without[:width + 5] = without[10_000:10_000 + width] = False
    exact = float(width * Fraction(0.1))
    assert np.abs(found[without] - exact).max() <= 2 * np.spacing(exact)
    running = np.cumsum(x)
    assert np.abs(running[width:] - running[:-width] - exact)[10:1_000].max() > 0.01


@ASSUMED
def test_a_payment_can_reach_the_threshold(assumed: bool) -> None:
    """With the payment itself among the ten, none is three deviations above their mean: at most 2.85."""
    x = np.array([9.0, 11.0] * 10 + [50.0] + [9.0, 11.0] * 5)
    for form in (expressions, operators):
        assert form.outliers(log(x, assumed=assumed)).collect()["start"].to_pylist() == [20]
    of_itself = (wb.mean(col.x) + 3 * wb.std(col.x)).past(10)
    assert log(np.append(x, 1e9), assumed=assumed).where(col.x > of_itself).collect().num_rows == 0


def test_a_payment_of_a_card_can_reach_the_threshold() -> None:
    x, card = np.repeat([9.0, 11.0] * 10, 3), np.tile([0, 1, 2], 20)
    x[-2] = 50.0
    stream = wb.from_arrow({"at": np.arange(60), "card": card, "x": x}, time="at", name="log").assume(
        periodic=3, per="card")
    for query in (expressions.fraud(stream), operators.fraud(stream, 3)):
        assert query.collect().select(["start", "x"]).to_pylist() == [{"start": 58, "x": 50.0}]


@ASSUMED
@pytest.mark.parametrize("type_", [np.int32, np.float64])
def test_a_derivative_of_a_ramp_is_not_zero(type_: Any, assumed: bool) -> None:
    """A division of integers made each derivative 0."""
    x = log((3 * np.arange(10)).astype(type_), assumed=assumed)
    slope = (2 * col.x + col.x.ago(1) - col.x.ago(3) - 2 * col.x.ago(4)) / 8
    assert x.select(d=slope).collect()["d"].to_pylist() == [None] * 4 + [30 / 8] * 6
    pulses = log(np.where(np.arange(300) % 100 < 5, 10.0, 0.0), assumed=assumed)
    assert max(expressions.pan_tompkins(pulses).collect()["z"].to_pylist()[20:]) > 1

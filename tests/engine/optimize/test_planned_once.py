"""A query that is asked again is not planned again, and a query on other rows is."""

import gc
import weakref

import numpy as np
import pyarrow as pa

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.operators.temporal.periodic_loop import PeriodicLoop
from whimbrel.optimize import optimize
from whimbrel.temporal.loop_codegen import loop_text


def _log(rows: int) -> Stream:
    return wb.from_arrow(pa.table({"at": np.arange(rows), "x": np.arange(rows) * 2}), time="at", name="log")


def test_a_plan_is_optimized_once():
    doubled = _log(10).where(col.x > 3).select(y=col.x * 2)
    assert optimize(doubled.node) is optimize(doubled.node)


def test_a_query_on_another_source_is_planned_for_it():
    few = _log(3).tumbling_window(10).aggregate(n=wb.count())
    assert few.collect()["n"].to_pylist() == [3]
    assert few.on(_log(7)).collect()["n"].to_pylist() == [7]
    assert few.collect()["n"].to_pylist() == [3]


def test_a_periodic_loop_is_written_once():
    means = _log(10).assume(periodic=1).sliding_window(2).aggregate(m=wb.mean(col.x))
    op = optimize(means.node).op
    assert isinstance(op, PeriodicLoop)
    texts = [loop_text(op.last, "a mean", (nulls,), 1, masked=False, max_slots=100)
             for nulls in ((False,), (False,), (True,))]
    assert texts[0] is texts[1]
    assert texts[0] is not texts[2]


def test_a_query_that_is_let_go_leaves_nothing():
    means = _log(10).assume(periodic=1).sliding_window(2).aggregate(m=wb.mean(col.x))
    means.collect()
    gone = [weakref.ref(means.node), weakref.ref(optimize(means.node))]
    del means
    gc.collect()
    assert [each() for each in gone] == [None, None]

"""N. Two levels: partial aggregates of unordered rows, against a hand-written evicting loop and the plan without them.

Keys are 1,000,000 numbers: of Zipf's law with exponent 1.1, as trains of packets (2,000 connections at a time, 20 rows
each on average), or uniform. Windows have 1,000,000 rows. Late rows arrive up to 100,000 ticks late.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numba
import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench.compare import Row, compare
from bench.figure import Figure
from bench.flushes import flushes
from bench.sheds import sheds
from bench.sides import Ours
from whimbrel import col
from whimbrel.batch import Batch, Column, Field, Schema
from whimbrel.clock import INF
from whimbrel.operators import EvictingAggregate, GroupAggregate, HoppingWindow
from whimbrel.plan import AggregatePhase

Array = np.ndarray[Any, Any]

ROWS, QUICK_ROWS, FLUSHED_ROWS = 8_000_000, 2_000_000, 32_000_000
KEYS, WINDOW, LATENCY, SLOTS, BATCH_ROWS = 1_000_000, 1_000_000, 100_000, 4_096, 65_536
_PASS = sys.modules["whimbrel.optimize.lower_aggregates"]


def run(*, quick: bool) -> Iterator[Row | Figure]:
    """The table alone, whole queries, and the step at the end of a window."""
    rows = QUICK_ROWS if quick else ROWS
    draw = np.random.default_rng(7)
    keys = {"Zipf 1.1": _zipf(draw, rows), "trains": _trains(draw, rows), "uniform": draw.integers(0, KEYS, rows)}
    values = draw.integers(0, 1_500, rows)
    few = draw.integers(0, 1_000, rows)
    for name, column in {"1,000 keys": few, "Zipf 1.1": keys["Zipf 1.1"]}.items():
        yield from _table(name, column, values)
    lag = np.where(draw.random(rows) < 0.25, draw.integers(0, LATENCY, rows), 0)
    late = np.argsort(np.arange(rows) + lag, kind="stable")
    for how, order in {"": np.arange(rows), ", 25% late": late}.items():
        for name, column in keys.items():
            log = pa.table({"time": order, "key": column[order], "value": values[order]})
            yield from compare("N two levels", f"{name}{how}", rows, Ours(lambda log=log: _query(log, 0), _collected),
                               {"plan without": Ours(lambda log=log: _query(log, 2 * rows), _collected)}, _same)
    yield from flushes(FLUSHED_ROWS // 4 if quick else FLUSHED_ROWS)
    yield from sheds(rows // 2)


def _query(log: pa.Table, min_rows: int) -> wb.Stream:
    """Count and sum by key and window; the plan is made here, with or without two levels."""
    stream = wb.from_arrow(log, time="time", reorder_latency=LATENCY, late="drop")
    query = stream.group_by("key").tumbling_window(WINDOW).aggregate(n=wb.count(), total=wb.sum(col.value))
    with mock.patch.object(_PASS, "MIN_ROWS", min_rows):
        query.explain()
    return query


def _collected(query: wb.Stream) -> pa.Table:
    return query.collect()


def _same(ours: pa.Table, theirs: pa.Table) -> bool:
    by = [("start", "ascending"), ("key", "ascending")]
    return bool(ours.sort_by(by).equals(theirs.sort_by(by)))


def _table(name: str, keys: Array, values: Array) -> Iterator[Row]:
    times = np.arange(len(keys)) // 2
    schema = Schema((Field("key", pa.int64()), Field("value", pa.int64())), None)
    states = GroupAggregate(keys=(("key", col.key),), measures=(("n", wb.count()), ("total", wb.sum(col.value))),
                            part=AggregatePhase.STATES, removable=False)
    operator = EvictingAggregate(window=HoppingWindow(size=WINDOW, hop=WINDOW, remembers=False), states=states,
                                 slots=SLOTS, max_slots=SLOTS)
    batches = [Batch(schema, times[at : at + BATCH_ROWS], 1, (Column(pa.int64(), keys[at : at + BATCH_ROWS]),
                                                             Column(pa.int64(), values[at : at + BATCH_ROWS])))
               for at in range(0, len(keys), BATCH_ROWS)]

    def ours() -> tuple[int, int]:
        kernel = operator.kernel(schema)
        out = [each for batch in batches for each in kernel.push(batch)] + kernel.advance(INF)
        return (sum(int(np.asarray(each.column("n.0").values).sum()) for each in out),
                sum(int(np.asarray(each.column("total.0").values).sum()) for each in out))

    def loop() -> tuple[int, int]:
        table = [np.zeros(SLOTS, np.int64) for _ in range(4)]
        n = total = 0
        for at in range(0, len(keys), BATCH_ROWS):
            out = [np.empty(BATCH_ROWS, np.int64) for _ in range(4)]
            done = _evicting(times[at : at + BATCH_ROWS], keys[at : at + BATCH_ROWS], values[at : at + BATCH_ROWS],
                             WINDOW, *table, *out)
            n, total = n + int(out[2][:done].sum()), total + int(out[3][:done].sum())
        return n + int(table[2].sum()), total + int(table[3].sum())

    yield from compare("N two levels", f"table, {name}", len(keys), ours, {"hand-written loop": loop},
                       lambda mine, theirs: mine == theirs, roof="hand-written loop")


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _evicting(times: Array, keys: Array, values: Array, hop: int, slot_key: Array, slot_pane: Array, count: Array,
              total: Array, out_key: Array, out_pane: Array, out_count: Array, out_total: Array) -> int:
    done = 0
    shift = np.uint64(64 - 12)
    for row in range(len(keys)):
        key, pane = keys[row], times[row] // hop
        slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(pane)) >> shift)
        if slot_key[slot] != key or slot_pane[slot] != pane:
            if count[slot] > 0:
                out_key[done], out_pane[done] = slot_key[slot], slot_pane[slot]
                out_count[done], out_total[done] = count[slot], total[slot]
                done += 1
            slot_key[slot], slot_pane[slot], count[slot], total[slot] = key, pane, 0, 0
        count[slot] += 1
        total[slot] += values[row]
    return done


def _zipf(draw: np.random.Generator, rows: int) -> Array:
    weights = 1 / np.arange(1, KEYS + 1) ** 1.1
    ranks = np.searchsorted(np.cumsum(weights / weights.sum()), draw.random(rows))
    return draw.permutation(KEYS)[np.minimum(ranks, KEYS - 1)]


def _trains(draw: np.random.Generator, rows: int) -> Array:
    """Each row is of one of 2,000 connections, of which each has 20 rows on average and then another key."""
    connection, fresh = draw.integers(0, 2_000, rows), draw.integers(0, KEYS, rows)
    order = np.lexsort((np.arange(rows), connection))
    begins = (draw.random(rows) < 0.05) | np.append(True, np.diff(connection[order]) != 0)
    keys = np.empty(rows, np.int64)
    keys[order] = fresh[order][np.maximum.accumulate(np.where(begins, np.arange(rows), 0))]
    return keys

"""How often intervals that allow for late rows hold at every update: ``python -m bench.late_coverage [LOGS]``."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import whimbrel as wb
from whimbrel import col

Array = np.ndarray[Any, Any]

WINDOW, BEFORE, AFTER = 1_000, 150, 14
VALUES = {"count": wb.count(), "count of few": wb.count().where(col.x > 9), "sum": wb.sum(col.x),
          "mean": wb.mean(col.x)}
DATA = {"normal": lambda chance, rows: chance.normal(5, 3, rows), "exponential": lambda chance, rows:
        chance.exponential(5, rows), "log-normal": lambda chance, rows: chance.lognormal(1, 1, rows)}


def arrived(seed: int, kind: str, data: str, rows: int) -> tuple[pa.Table, int]:
    """Rows as they came, and how many of them came first, from which the model is made."""
    chance = np.random.default_rng(seed)
    span, count = (BEFORE + AFTER) * WINDOW, (BEFORE + AFTER) * rows
    at = np.sort(chance.integers(0, span, count))
    delay = chance.exponential(0.3 * WINDOW, count) * (chance.random(count) < 0.4)
    if kind == "outages":
        for first in range(0, span, 8 * WINDOW):
            begin, lasts = first + chance.integers(0, 8 * WINDOW), chance.exponential(WINDOW / 3)
            held = (at >= begin) & (at < begin + lasts) & (chance.random(count) < 0.5)
            delay = np.where(held, np.maximum(delay, begin + lasts - at), delay)
    seen = at + delay.astype(np.int64)
    order = np.argsort(seen, kind="stable")
    table = pa.table({"at": at, "seen": seen, "k": chance.choice(4, count, p=[0.6, 0.25, 0.1, 0.05]),
                      "x": DATA[data](chance, count)}).take(order)
    return table, int(np.searchsorted(np.maximum.accumulate(at[order]), BEFORE * WINDOW))


def log(table: pa.Table) -> wb.Stream:
    return wb.from_arrow(table, time="at", arrival="seen", name="log")


def answers(table: pa.Table, now: int, query: wb.Stream, seed: int, *, ends: bool) -> Iterator[wb.Estimate]:
    """Of a feed; or of a log that ends with three quarters of its rows, read in blocks."""
    late = wb.lateness(log(table.slice(0, now)))
    rest = log(table.slice(now))
    if ends:
        stop = (table.num_rows - now) * 3 // 4
        yield from query.on(log(table.slice(now, stop))).progressive(
            every="10%", late=late, seed=seed, block_rows=max(16, stop // 400))
    else:
        yield from query.on(wb.replay(rest, speed=float("inf"), reorder_latency=10**6, every=WINDOW // 20)).progressive(
            every=64, late=late)


def paths(kind: str, data: str, rows: int, logs: int, *, groups: bool, ends: bool) -> None:
    """Print of each value on how many paths no interval was false, how many had one, and half its width."""
    false, given, widths = defaultdict(bool), defaultdict(bool), defaultdict(list)
    for seed in range(logs):
        table, now = arrived(seed, kind, data, rows)
        rest = log(table.slice(now))
        query = (rest.group_by("k") if groups else rest).tumbling_window(WINDOW).aggregate(**{
            name.replace(" ", "_"): value for name, value in VALUES.items()})
        truth = {(row["start"], row.get("k")): row for row in query.collect().to_pylist()}
        rows_of = (row for answer in answers(table, now, query, seed, ends=ends) if not answer.final
                   for row in answer.table.to_pylist() if row["start"] >= (BEFORE + 1) * WINDOW)  # that have all rows
        for row in rows_of:
            key = row["start"], row.get("k")
            for name in VALUES:
                value, path = name.replace(" ", "_"), (name, seed, key)
                low, high, true = row[f"{value}_low"], row[f"{value}_high"], truth[key][value]
                close = 1e-9 * abs(true)
                false[path] |= not (-np.inf if low is None else low - close) <= true <= (
                    np.inf if high is None else high + close)
                if low is not None and high is not None and low < high:
                    given[path] = True
                    widths[name].append((high - low) / 2 / abs(row[value]) if row[value] else np.inf)
    what = f"{'log that ends' if ends else 'feed'}, {kind}, {data}, {rows} rows, {'4 groups' if groups else 'all'}"
    for name in VALUES:
        mine = [path for path in false if path[0] == name]
        some = [path for path in mine if given[path]]
        held = 1 - sum(false[path] for path in some) / max(len(some), 1)
        print(f"{what}, {name}: held {held:.1%} of {len(some):,}, given {len(some) / len(mine):.0%}, half width "
              f"{np.median(widths[name]) if widths[name] else np.nan:.1%}", flush=True)


def main(logs: int = 40) -> None:
    for ends, rows in ((False, 500), (True, 1_500)):
        for kind in ("jitter", "outages"):
            for data in DATA:
                for groups in (False, True):
                    paths(kind, data, rows, logs, groups=groups, ends=ends)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

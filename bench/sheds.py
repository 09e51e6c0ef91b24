"""CPU time of a query that sheds nine rows in ten, against the same query without shedding."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench.figure import Figure
from whimbrel import col
from whimbrel.kernels import wait_for_compiler

PERIODS, REPEATS = 50, 5


def sheds(rows: int) -> Iterator[Figure]:
    """The best of several runs by texts, by integers and without keys.

    Both read and sort all rows. Without keys a row costs so little that sums for the intervals outweigh what is saved.
    """
    draw = np.random.default_rng(8)
    host, size = draw.integers(0, 100_000, rows), draw.integers(40, 1_500, rows)
    log = pa.table({"at": np.arange(rows), "host": host, "name": pa.array(host.astype(str)), "size": size})
    packets = wb.from_arrow(log, time="at", name="packets")
    rule = wb.Shed(rows // PERIODS // 10, per=rows // PERIODS)
    for key in ("name", "host", None):
        keyed = packets if key is None else packets.group_by(key)
        query = keyed.tumbling_window(rows // 5).aggregate(n=wb.count(), total=wb.sum(col.size))
        spent: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(REPEATS):
            for shed, times in spent.items():
                times.append(_seconds(packets, query, rule if shed else None))
        yield Figure("N two levels", f"shed 90% of rows, by {key or 'no key'}", "of exact",
                     min(spent[True]) / min(spent[False]), "1.0")


def _seconds(packets: wb.Stream, query: wb.Stream, rule: wb.Shed | None) -> float:
    """CPU seconds of a desk with this one query."""
    desk = wb.desk(packets)
    desk.add("query", query, overload=rule)
    began = time.thread_time()
    with wait_for_compiler():
        desk.run()
    return time.thread_time() - began

"""M. A desk: many queries on one reading of a table in memory, against one query.

Rows have a key of 100 and a protocol of 40. Each query counts and sums by key in windows, for one protocol. Answers of
the first query are compared, and the time of adding them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench.compare import Row, compare, same_rows
from bench.sides import Ours
from whimbrel import Stream, col

ROWS, QUICK_ROWS = 2_000_000, 500_000
PREDICATES = 40
Queries = tuple[Stream, list[Stream]]


def run(*, quick: bool) -> Iterator[Row]:
    """One figure for each number of queries."""
    rows = QUICK_ROWS if quick else ROWS
    same = same_rows("start", "k", "n", "total")
    for case, predicates, queries in (("40 predicates", PREDICATES, PREDICATES),
                                      ("1,000 queries, 40 distinct", PREDICATES, 1_000)):
        yield from compare("M desk", case, rows, Ours(_made(rows, predicates, queries), _on_desk, f"{queries} queries"),
                           {"one query": Ours(_made(rows, 1, 1), _on_desk, "one query")}, same)


def _made(rows: int, predicates: int, queries: int) -> Callable[[], Queries]:
    def build() -> Queries:
        draw = np.random.default_rng(5)
        table = pa.table({"at": np.arange(rows), "k": draw.integers(0, 100, rows), "size": draw.integers(0, 1500, rows),
                          "protocol": draw.integers(0, PREDICATES, rows)})
        log = wb.from_arrow(table, time="at", name="log")
        return log, [log.where(col.protocol == number % predicates).tumbling_window(rows // 20).group_by("k").aggregate(
            n=wb.count(), total=wb.sum(col.size)) for number in range(queries)]

    return build


def _on_desk(made: Queries) -> pa.Table:
    log, queries = made
    desk = wb.desk(log)
    for number, query in enumerate(queries):
        desk.add(f"q{number}", query)
    desk.run()
    return desk["q0"].table

"""What a query asks of its last windows afterwards: intervals go where their rows go."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col

ROWS = 20_000
TABLE = pa.table({"at": np.arange(ROWS), "k": np.random.default_rng(1).integers(0, 3, ROWS)})
LOG = wb.from_arrow(TABLE, time="at", name="log").group_by("k")
WINDOWS = {"tumbling": LOG.tumbling_window(ROWS // 4).aggregate(n=wb.count()),
           "hopping": LOG.hopping_window(ROWS // 2, ROWS // 4).aggregate(n=wb.count())}
TAILS: dict[str, Callable[[wb.Stream], wb.Stream]] = {
    "shift": lambda found: found.shift(7), "extend": lambda found: found.extend(3),
    "set_duration": lambda found: found.set_duration(5), "sliding_window": lambda found: found.sliding_window(50),
    "point_at_end": lambda found: found.point_at_end(), "quantize": lambda found: found.quantize(4_000, 4_000),
    "chop": lambda found: found.chop(1_000), "clip_duration": lambda found: found.clip_duration(10),
    "some": lambda found: found.shift(3).where(col.n > 1).top_k(2, by="n"),
}


def rows(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("tail", TAILS)
def test_intervals_go_where_rows_go(windows: str, tail: str) -> None:
    """Rows were sought by their starts among those of the windows, and not found."""
    query = TAILS[tail](WINDOWS[windows])
    exact = query.collect()
    truth = {(row["start"], row["k"]): row["n"] for row in exact.to_pylist()}
    progress = query.progressive(every="10%", block_rows=200)
    given = 0
    for answer in progress:
        for row in answer.table.to_pylist():
            if None not in (row["n_low"], row["n_high"]) and (row["start"], row["k"]) in truth:
                given += 1
                assert row["n_low"] <= truth[row["start"], row["k"]] <= row["n_high"]
    assert given
    assert rows(progress.finish()) == rows(exact)


@pytest.mark.parametrize("tail", [lambda found: found.distinct(), lambda found: found.unpivot("n")])
def test_what_does_not_go_on_row_by_row_says_so(tail: Callable[[wb.Stream], wb.Stream]) -> None:
    query = tail(WINDOWS["tumbling"])
    *early, _ = query.progressive(every="20%")
    assert all("combines several rows" in answer.summary for answer in early)
    assert rows(query.progressive().finish()) == rows(query.collect())


def test_a_query_and_its_table_are_freed_whatever_follows_its_windows() -> None:
    """A step after the windows was kept by what is known of its query, and the query by its step."""
    for end in (lambda found: found, lambda found: found.where(col.n > 1), lambda found: found.top_k(2, by="n")):
        table = pa.table({"at": np.arange(9_000), "k": np.arange(9_000) % 3})
        query = end(wb.from_arrow(table, time="at").group_by("k").tumbling_window(9_000).aggregate(n=wb.count()))
        progress = query.progressive()
        progress.finish()
        source = weakref.ref(progress.block_run.states.source)
        del progress, query, table
        gc.collect()
        assert source() is None

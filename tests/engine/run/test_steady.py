"""In steady state a batch is answered in memory that was there before, on a machine without huge pages as well."""

from __future__ import annotations

import ctypes
import resource
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.batch import Batch
from whimbrel.kernels import wait_for_compiler
from whimbrel.optimize import optimize
from whimbrel.run import Pipeline

BATCH_ROWS = 262_144
PAGES_OF_A_COLUMN = BATCH_ROWS * 8 // 4_096

QUERIES: dict[str, Callable[[Stream], Stream]] = {
    "rows": lambda log: log.where(col.x > 0).select("k", y=col.x * 2),
    "tumbling": lambda log: log.group_by("k").tumbling_window(60_000).aggregate(n=wb.count(), total=wb.sum(col.x)),
    "hopping": lambda log: log.group_by("k").hopping_window(60_000, 10_000).aggregate(n=wb.count()),
    "on a beat": lambda log: log.assume(periodic=1).sliding_window(50).aggregate(m=wb.mean(col.x)),
}


@pytest.fixture
def small_pages() -> Iterator[None]:
    """A page is 4 KiB, as where none of the huge ones is left, which would hide most of what is touched."""
    disable_huge_pages = 41  # PR_SET_THP_DISABLE of prctl(2)
    prctl = ctypes.CDLL(None).prctl
    prctl(disable_huge_pages, 1, 0, 0, 0)
    yield
    prctl(disable_huge_pages, 0, 0, 0, 0)


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("name", QUERIES)
def test_a_batch_touches_no_new_memory(name: str) -> None:
    rows = 4_000_000
    random = np.random.default_rng(1)
    table = pa.table({"at": np.arange(rows), "k": random.integers(0, 1_000, rows), "x": random.normal(size=rows)})
    query = QUERIES[name](wb.from_arrow(table, time="at", name="log"))
    pages = []
    with wait_for_compiler():
        pipeline = Pipeline(optimize(query.node))
        source, = pipeline.sources
        read = Batch.concat([batch for batch in source.read(source.schema.names) if batch is not None])
        for first in range(0, rows, BATCH_ROWS):
            batch = read.slice(first, first + BATCH_ROWS)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            pipeline.push(0, batch)
            pages.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    assert len(pages) > 15
    assert median(pages[8:]) < PAGES_OF_A_COLUMN // 4

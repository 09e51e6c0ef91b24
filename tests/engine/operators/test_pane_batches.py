"""Parts of rows that lie in memory in one piece: what comes of each is what comes of it alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch
from whimbrel.clock import INF
from whimbrel.errors import KernelError
from whimbrel.kernels import tier
from whimbrel.operators.aggregation import operation_log, pane_batches
from whimbrel.operators.aggregation.pane_kernel import PaneKernel
from whimbrel.optimize import optimize
from whimbrel.plan import Source

ROWS = 9_000
PARTS = ((6_000, 9_000), (0, 3_000), (4_500, 6_000), (3_000, 4_500))
CHANCE = np.random.default_rng(4)
TABLE = pa.table({"at": np.sort(CHANCE.integers(0, 900, ROWS)), "k": CHANCE.integers(0, 3_000, ROWS),
                  "short": CHANCE.integers(0, 9, ROWS).astype(np.int32), "x": CHANCE.integers(-5, 9, ROWS)})
AGGREGATES = {"n": wb.count(), "total": wb.sum(col.x), "mean": wb.mean(col.x)}
QUERIES = {
    "many groups": lambda log: log.where(col.x > 0).group_by("k").tumbling_window(200).aggregate(**AGGREGATES),
    "alone": lambda log: log.tumbling_window(70).aggregate(**AGGREGATES),
}


def kernel_of(query: wb.Stream, first: Batch) -> PaneKernel:
    """A kernel that gathers and has read some rows, so that its loop is compiled."""
    node = optimize(query.node)
    assert not isinstance(node.op, Source)
    kernel = node.op.kernel(node.inputs[0].schema)
    assert isinstance(kernel, PaneKernel)
    kernel.gathers = True
    kernel.push_whole([first])
    kernel.gathered()
    return kernel


def rows_of(table: pa.Table, query: Any) -> tuple[wb.Stream, Batch]:
    log = wb.from_arrow(table, time="at")
    source, = optimize(query(log).node).sources()
    whole, = source.read(source.schema.names)
    assert whole is not None
    return query(log), whole


@pytest.mark.parametrize("query", QUERIES)
def test_what_comes_of_a_part_is_what_comes_of_it_alone(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_log, "CAPACITY", 8)
    asked, whole = rows_of(TABLE, QUERIES[query])
    with tier("fused"):
        alone, parted = (kernel_of(asked, whole.slice(0, 9)) for _ in range(2))
        parts = parted.parts_of(whole)
        assert parts is not None
        for first, stop in PARTS:
            alone.push_whole([whole.slice(first, stop)])
            assert parts.take_in(first, stop)
        assert alone.waiting == parted.waiting > 10
        found = [Batch.concat(kernel.gathered()) for kernel in (alone, parted)]
    one, other = ([batch.sync.tolist(), *(column.values.tolist() for column in batch.columns)] for batch in found)
    assert one == other


def test_where_there_is_more_to_do_it_is_done_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, whole = rows_of(TABLE, QUERIES["alone"])
    with tier("fused"):
        kernel = kernel_of(asked, whole.slice(0, 9))
        parts = kernel.parts_of(whole)
        assert parts is not None
        with tier("primitives"):
            assert not parts.take_in(0, 9)
        monkeypatch.setattr(pane_batches, "FAR", len(kernel.rows) - 1)
        assert not parts.take_in(0, 9)
        monkeypatch.undo()
        far = whole.having(sync=np.append(whole.sync[:-1], INF - 3))
        parts = kernel.parts_of(far)
        assert parts is not None
        assert parts.take_in(0, 9)
        assert not parts.take_in(9, ROWS)
        for computed in (lambda log: log.group_by("short").tumbling_window(70).aggregate(n=wb.count()),
                         lambda log: log.group_by(g=col.k % 7).tumbling_window(70).aggregate(n=wb.count())):
            asked, whole = rows_of(TABLE, computed)
            assert kernel_of(asked, whole.slice(0, 9)).parts_of(whole) is None


def test_an_aggregate_that_fails_over_a_part_is_named() -> None:
    large = TABLE.set_column(3, "x", pa.array(np.full(ROWS, 2**62)))
    asked, whole = rows_of(large, lambda log: log.tumbling_window(70).aggregate(total=wb.sum(col.x)))
    with tier("fused"):
        parts = kernel_of(asked, whole.slice(0, 1)).parts_of(whole)
        assert parts is not None
        with pytest.raises(KernelError, match="sum"):
            parts.take_in(0, 3_000)

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch
from whimbrel.clock import INF
from whimbrel.kernels import Tier, tier
from whimbrel.operators import schedule
from whimbrel.operators.pane_kernel import PaneKernel
from whimbrel.optimize import optimize


@pytest.mark.parametrize("name", ("interpreted", "primitives"))
def test_rows_that_are_gathered_are_those_that_come_out(name: Tier, monkeypatch: Any) -> None:
    monkeypatch.setattr(schedule, "ROOM", 8)  # less than most panes have groups, and than they have together
    chance = np.random.default_rng(2)
    table = pa.table({"at": np.sort(chance.integers(0, 90, 400)), "k": chance.integers(0, 30, 400),
                      "x": chance.integers(0, 9, 400)})
    log = wb.from_arrow(table, time="at")
    node = optimize(log.group_by("k").tumbling_window(9).aggregate(n=wb.count(), total=wb.sum(col.x)).node)
    source, = log.sources
    found = []
    with tier(name):
        for gathers in (False, True):
            kernel = node.op.kernel(node.inputs[0].schema)
            assert isinstance(kernel, PaneKernel)
            kernel.gathers = gathers
            out: list[Batch] = []
            for first in range(0, 400, 100):
                for batch in source.excerpt(first, first + 100).read(["k", "x"]):
                    assert batch is not None
                    out += kernel.push(batch)
                if first == 200:
                    out += kernel.advance(INF)  # as between two blocks
            out += kernel.advance(INF)
            assert not (gathers and out)
            rows = Batch.concat([*out, *kernel.gathered()])
            assert kernel.waiting == 0
            found.append([rows.sync.tolist(), *(column.values.tolist() for column in rows.columns)])
    assert len(found[0][0]) > 200
    assert found[0] == found[1]

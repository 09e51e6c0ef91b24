"""A row for each window that hops, of the states of its panes."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch
from whimbrel.clock import INF
from whimbrel.kernels import Tier, tier
from whimbrel.kernels.primitives.windows.hopping_windows import USED
from whimbrel.operators import HoppingAggregate
from whimbrel.operators.aggregation import operation_log
from whimbrel.operators.aggregation.hopping_aggregate import HoppingAggregateKernel
from whimbrel.optimize import optimize

Row = tuple[int, int, int]


def _log(rows: list[Row]) -> wb.Stream:
    at, k, x = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return wb.from_arrow(pa.table({"at": at, "k": k, "x": x}), time="at", name="log")


def _closed(log: wb.Stream, size: int, hop: int, offset: int = 0) -> wb.Stream:
    return log.group_by("k").hopping_window(size, hop, offset=offset).aggregate(
        a=wb.first(col.x), hi=wb.max(col.x), total=wb.sum(col.x), n=wb.count(), emit="close")


def _windows(rows: list[Row], size: int, hop: int, offset: int) -> list[tuple[int, ...]]:
    """Every window and group by itself; of rows at one time the least value comes first."""
    found = []
    pane = [at - (at - offset) % hop for at, _, _ in rows]
    for start in range(min(pane), max(pane) + size, hop):
        for key in {k for _, k, _ in rows}:
            held = sorted((at, x) for (at, k, x), mine in zip(rows, pane, strict=True)
                          if k == key and mine <= start < mine + size)
            values = [x for _, x in held]
            if held:
                found.append((start, key, values[0], max(values), sum(values), len(values)))
    return sorted(found)


def _answer(stream: wb.Stream, **how: int) -> list[tuple[int, ...]]:
    found = stream.collect(**how).to_pylist()
    assert all(row["end"] - row["start"] == found[0]["end"] - found[0]["start"] for row in found)
    return sorted((row["start"], row["k"], row["a"], row["hi"], row["total"], row["n"]) for row in found)


@pytest.mark.share(4)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("size", "hop", "offset"), [(10, 5, 0), (12, 2, 1), (7, 1, 0), (60, 20, 7), (200, 4, 3)])
@pytest.mark.parametrize("seed", range(4))
def test_windows_hold_what_their_panes_hold(seed: int, size: int, hop: int, offset: int, threads: int) -> None:
    """Runs of rows and silences of all lengths, also of many windows: the log stops within a block or between two."""
    chance = random.Random(seed)
    rows: list[Row] = []
    at = chance.randrange(-50, 50)
    for _ in range(300):
        at += chance.choice([0, 0, 1, 3, hop, size, 5 * size])
        rows.append((at, chance.randrange(4), chance.randrange(-9, 9)))
    assert _answer(_closed(_log(rows), size, hop, offset), threads=threads) == _windows(rows, size, hop, offset)


def test_more_groups_than_a_step_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_log, "CAPACITY", 256)
    groups = 3_000
    rows = [(at, k, at + k) for at in (0, 4) for k in range(groups)]
    found = _closed(_log(rows), 8, 4).collect().to_pandas()
    assert found.groupby("start").size().to_dict() == {0: groups, 4: groups, 8: groups}
    assert (found.a == found.k + np.where(found.start == 8, 4, 0)).all()
    assert (found.total == found.hi + np.where(found.start == 4, found.k, 0)).all()


def test_a_row_for_each_window_is_merged_in_one_step() -> None:
    plan = optimize(_closed(_log([(0, 0, 1)]), 10, 5).node)
    assert [type(node.op) for node in plan.walk()][1:] == [HoppingAggregate]


@pytest.mark.parametrize("name", ["interpreted", "fused"])
def test_few_groups_after_many_move_together(name: Tier) -> None:
    """Else each window would cost as much as the fullest one ever did."""
    rows = [(at, k, at - k) for at in range(0, 80, 2) for k in (range(40) if at < 8 else (37, 5))]
    rows += [(at, k, k) for at in (81, 99) for k in range(30)]
    log = _log(rows)
    node, (source,) = optimize(_closed(log, 10, 5).node), log.sources
    with tier(name):
        kernel = node.op.kernel(node.inputs[0].schema)
        assert isinstance(kernel, HoppingAggregateKernel)
        out, used = [], []
        for first in range(0, len(rows), 20):
            for batch in source.excerpt(first, min(first + 20, len(rows))).read(["k", "x"]):
                assert batch is not None
                out += kernel.push(batch)
            used.append(int(kernel.at[USED]))
        found = Batch.concat([*out, *kernel.advance(INF)])
    assert max(used) == 40
    assert min(used[8:]) == 2
    columns = [found.sync, *(column.values for column in found.columns)]
    assert sorted(zip(*(each.tolist() for each in columns), strict=True)) == _windows(rows, 10, 5, 0)


@pytest.mark.parametrize("asked", [wb.median(col.x), wb.count_distinct(col.x)], ids=["bag", "distinct"])
def test_what_does_not_merge_is_asked_of_rows(asked: wb.Aggregate) -> None:
    stream = _log([(0, 0, 5), (1, 0, 7), (6, 0, 5)]).hopping_window(10, 5).aggregate(it=asked, emit="close")
    assert not any(isinstance(node.op, HoppingAggregate) for node in optimize(stream.node).walk())
    assert len(stream.collect()) == 3


def test_a_sum_that_leaves_int64_on_the_way_is_reported() -> None:
    rows = [(0, 0, 2**62), (5, 0, 2**62)]
    with pytest.raises(wb.WhimbrelError, match="An integer sum leaves int64"):
        _closed(_log(rows), 10, 5).collect()

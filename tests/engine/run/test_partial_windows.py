"""Windows too long to be shared out whole are cut: states of their parts, merged, are the answer of one thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col
from whimbrel.run import time_partitions
from whimbrel.run.partial_windows import cut_windows

ROWS = 3_000

Query = Callable[[Stream], Stream]

CUT: dict[str, Query] = {
    "one window": lambda log: log.group_by("k").tumbling_window(ROWS).aggregate(
        n=wb.count(), total=wb.sum(col.x), mean=wb.mean(col.x), least=wb.min(col.x)),
    "three": lambda log: log.tumbling_window(1_000, label="end").aggregate(n=wb.count(), spread=wb.var(col.x)),
    "no keys, a filter": lambda log: log.where(col.x > 2).tumbling_window(ROWS).aggregate(last=wb.last(col.x)),
    "hopping": lambda log: log.group_by("k").hopping_window(2_000, 500).aggregate(n=wb.count()),
    "hopping, emit": lambda log: log.group_by("k").hopping_window(2_000, 500).aggregate(n=wb.count(), emit="close"),
    "computed, and more": lambda log: log.group_by("k", "x").tumbling_window(ROWS).aggregate(
        m=wb.sum(col.x) / wb.count(), n=wb.count()).where(col.n > 2).top_k(4, by=col.n),
    "twice": lambda log: log.group_by("k").tumbling_window(1_500).aggregate(n=wb.count())
    .tumbling_window(ROWS).aggregate(most=wb.max(col.n)),
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_partitions, "_FEWEST_ROWS", 100)


def table(times: np.ndarray | None = None) -> pa.Table:
    chance = np.random.default_rng(4)
    return pa.table({"at": np.arange(ROWS) if times is None else times,
                     "k": pa.array(chance.choice(["a", "b", "c", None], ROWS).tolist(), pa.string()),
                     "x": chance.integers(0, 9, ROWS)})


def rows(answer: pa.Table) -> list[tuple[object, ...]]:
    return sorted(zip(*(column.to_pylist() for column in answer.columns), strict=True), key=repr)


@pytest.mark.parametrize("name", CUT)
def test_parts_of_windows_make_the_answer_of_one_thread(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query, made = CUT[name](wb.from_arrow(table(), time="at")), []
    of = time_partitions.states_of
    monkeypatch.setattr(time_partitions, "states_of", lambda part, stop: made.append(part) or of(part, stop))
    cut = time_partitions.collect_side_by_side(query.node, 2)
    assert cut is not None
    assert len(made) == 2
    assert (np.diff(cut["start"].to_numpy()) >= 0).all()
    alone = query.collect()
    assert cut.schema == alone.schema
    assert rows(cut) == rows(alone)


def test_parquet_files_are_cut_at_row_groups(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "log.parquet", row_group_size=700)
    query = CUT["one window"](wb.read_parquet(tmp_path / "log.parquet", time="at"))
    cut = cut_windows(query.node, 2)
    assert cut is not None
    assert [part.sources()[0].rows for part in cut.parts] == [2_100, 900]
    assert rows(query.collect(threads=2)) == rows(query.collect())


@pytest.mark.parametrize("row", [1, ROWS // 2, ROWS - 1])
def test_rows_out_of_order_are_reported_as_on_one_thread(row: int) -> None:
    times = np.arange(ROWS)
    times[row] -= 2
    query = CUT["one window"](wb.from_arrow(table(times), time="at"))
    with pytest.raises(WhimbrelError) as alone:
        query.collect()
    with pytest.raises(WhimbrelError) as together:
        query.collect(threads=2)
    assert str(together.value) == str(alone.value)


@pytest.mark.parametrize("query", [
    lambda log: log.tumbling_window(ROWS).aggregate(middle=wb.median(col.x)),  # no states of a few numbers
    lambda log: log.set_duration(5).aggregate(n=wb.count()).tumbling_window(ROWS).aggregate(most=wb.max(col.n)),
    lambda log: log.union(log.shift(1)).tumbling_window(ROWS).aggregate(n=wb.count()),
])
def test_other_queries_are_not_cut_so(query: Query) -> None:
    assert cut_windows(query(wb.from_arrow(table(), time="at")).node, 2) is None


def test_where_states_are_many_threads_take_shares_of_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    many = table().append_column("id", pa.array(np.arange(ROWS) * 7 % ROWS))
    query = wb.from_arrow(many, time="at").group_by("id").hopping_window(2_000, 500).aggregate(
        n=wb.count(), total=wb.sum(col.x), emit="close")
    cut = cut_windows(query.node, 2)
    assert cut is not None
    assert not cut.few
    taken, of = [], time_partitions.partition_by_key
    monkeypatch.setattr(time_partitions, "partition_by_key", lambda plan, parts: taken.append(parts) or of(plan, parts))
    together = time_partitions.collect_side_by_side(query.node, 2)
    assert taken == [2]
    assert together is not None
    assert (np.diff(together["start"].to_numpy()) >= 0).all()
    assert rows(together) == rows(query.collect())

"""Shares of the keys answered side by side are the answer of one thread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col
from whimbrel.run import key_partitions, time_partitions

ROWS = 4_000
KEYS = ["k", "word", "code", "flag", "day", "none"]

Query = Callable[[Stream, str], Stream]

CUT: dict[str, Query] = {
    "sessions": lambda log, by: log.group_by(by).session_window(5).aggregate(n=wb.count(), total=wb.sum(col.x)),
    "from then on": lambda log, by: log.set_duration(None).group_by(by).aggregate(n=wb.count(), most=wb.max(col.x)),
    "computed": lambda log, by: log.set_duration(col.x + 1).group_by(by).aggregate(n=wb.count()),
    "join": lambda log, by: log.set_duration(col.x + 1).join(
        log.where(col.x > 7).select(by, z=col.x).set_duration(None), on=by),
    "two keys": lambda log, by: log.group_by(by, "x").session_window(9).aggregate(n=wb.count()),
}


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_partitions, "_FEWEST_ROWS", 100)


def log(times: np.ndarray | None = None) -> Stream:
    random = np.random.default_rng(5)
    times = np.sort(random.integers(-1_000, 3 * ROWS, ROWS)) if times is None else times
    keys = random.integers(-3, 4, ROWS)
    words = pa.array([f"wörd {key}" for key in keys], mask=keys == 1)
    table = pa.table({"at": times, "k": pa.array(keys, mask=keys == 0), "word": words,
                      "code": words.dictionary_encode(), "flag": keys > 0,
                      "day": pa.array(keys.astype("datetime64[D]")), "none": pa.nulls(ROWS, pa.string()),
                      "x": random.integers(0, 10, ROWS)})
    return wb.from_arrow(pa.Table.from_batches(table.to_batches(max_chunksize=700)), time="at", name="log")


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


@pytest.mark.share(10)
@pytest.mark.parametrize("threads", [2, 5])
@pytest.mark.parametrize("by", KEYS)
@pytest.mark.parametrize("name", CUT)
def test_a_query_of_groups_is_cut(name: str, by: str, threads: int) -> None:
    query = CUT[name](log(), by)
    parts = key_partitions.partition_by_key(query.node, threads)
    assert len(parts) == threads
    cut = time_partitions.collect_side_by_side(query.node, threads)
    assert cut is not None
    assert (np.diff(cut["start"].to_numpy()) >= 0).all()
    assert rows(cut) == rows(query.collect())


def test_each_share_has_some_of_many_keys() -> None:
    query = log().group_by("at").session_window(5).aggregate(n=wb.count())
    sizes = [part.sources()[0] for part in key_partitions.partition_by_key(query.node, 4)]
    counts = [sum(len(batch.compact()) for batch in share.read(["x"]) if batch is not None) for share in sizes]
    assert sum(counts) == ROWS
    assert min(counts) > ROWS // 8


@pytest.mark.parametrize("offset", [0, 1, 300, ROWS])
def test_a_share_can_be_read_from_any_of_its_rows(offset: int) -> None:
    query = log().group_by("at").session_window(5).aggregate(n=wb.count())
    share = key_partitions.partition_by_key(query.node, 3)[1].sources()[0]
    whole, rest = ([at for batch in share.read(["x"], begin) if batch is not None
                    for at in batch.compact().sync.tolist()]
                   for begin in (0, offset))
    assert rest == whole[offset:]


def test_rows_of_different_keys_that_meet_stay_together() -> None:
    query = log().group_by("k").session_window(5).aggregate(n=wb.count()).top_k(1, by=col.n)
    assert key_partitions.partition_by_key(query.node, 2) == []
    assert rows(query.collect(threads=2)) == rows(query.collect())


@pytest.mark.parametrize("row", [1, 699, 700, ROWS // 2, ROWS - 1])
def test_rows_out_of_order_are_reported_as_on_one_thread(row: int) -> None:
    times = np.arange(ROWS) * 3
    times[row] = times[row - 1] - 1
    query = log(times).group_by("k").session_window(5).aggregate(n=wb.count())
    with pytest.raises(WhimbrelError) as alone:
        query.collect()
    with pytest.raises(WhimbrelError) as together:
        query.collect(threads=2)
    assert str(together.value) == str(alone.value)
    assert f"Row {row:,} of log" in str(alone.value)

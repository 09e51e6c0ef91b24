"""Ranges of time answered side by side are the answer of one thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel import Stream, WhimbrelError, col
from whimbrel.clock import INF
from whimbrel.run import time_partitions

ROWS = 4_000

Query = Callable[[Stream], Stream]

LAST_FULL = wb.aggregate(init=(-1000, 0), accumulate=lambda s, n, start: (start if n > 2 else s[0], start),
                         result=lambda s: s[1] - s[0] if s[1] - s[0] <= 20 else None, forgets=20, name="last_full")

CUT: dict[str, Query] = {
    "rows": lambda log: log.where(col.x > 3).select("k", y=col.x * 2),
    "tumbling": lambda log: log.group_by("k").tumbling_window(50).aggregate(n=wb.count(), total=wb.sum(col.x)),
    "offset": lambda log: log.tumbling_window(50, offset=7).aggregate(n=wb.count()),
    "label end": lambda log: log.tumbling_window(50, label="end").aggregate(n=wb.count()),
    "hopping": lambda log: log.group_by("k").hopping_window(60, 20).aggregate(most=wb.max(col.x)),
    "hopping, uneven": lambda log: log.hopping_window(50, 20).aggregate(n=wb.count()),
    "hopping, label end": lambda log: log.hopping_window(60, 20, label="end").aggregate(n=wb.count()),
    "gaps": lambda log: log.hopping_window(20, 50).aggregate(n=wb.count()),
    "sliding": lambda log: log.group_by("k").sliding_window(30).aggregate(n=wb.count(), least=wb.min(col.x)),
    "shift": lambda log: log.tumbling_window(50).aggregate(n=wb.count()).shift(13).where(col.n > 1),
    "shift back": lambda log: log.shift(-13).tumbling_window(50).aggregate(n=wb.count()),
    "aggregate of aggregates": lambda log: log.group_by("k").tumbling_window(20).aggregate(n=wb.count())
    .hopping_window(60, 20).aggregate(most=wb.max(col.n)),
    "top": lambda log: log.set_duration(25).top_k(2, by=col.x),
    "join": lambda log: log.set_duration(30).join(log.select("k", z=col.x), on="k"),
    "outer join": lambda log: log.set_duration(9).join(log.where(col.x > 7).select("k", z=col.x), on="k", how="left"),
    "semi": lambda log: log.set_duration(9).semi_join(log.where(col.x > 7).select("k"), on="k"),
    "union": lambda log: log.tumbling_window(60).aggregate(n=wb.count()).union(
        log.tumbling_window(20).aggregate(n=wb.count()), log.select(n=col.x)),
    "chop": lambda log: log.set_duration(30).chop(8),
    "extend": lambda log: log.set_duration(9).extend(-3).extend(12),
    "clip": lambda log: log.set_duration(30).clip_at(log.where(col.x > 7), on="k"),
    "held levels over time": lambda log: log.group_by("k").tumbling_window(10).aggregate(n=wb.count()).group_by(
        "k").hold(limit=25).over_time(every=10, m=wb.time_mean(col.n).past(30), n=col.n),
    "computed": lambda log: log.tumbling_window(50).aggregate(m=wb.sum(col.x) / wb.count(), begin=wb.window_start()),
    "so far, which forgets": lambda log: log.set_duration(1).aggregate(n=wb.count()).set_duration(1).select(
        s=LAST_FULL(col.n).so_far()),
    "resampled": lambda log: log.group_by("k").tumbling_window(10).aggregate(n=wb.count()).group_by("k").resample(
        7, how="linear", limit=40),
    "a range": lambda log: log.group_by("k").sliding_window(30).aggregate(s=wb.sum(col.x)).between(2_000, 9_000),
    "emit": lambda log: log.group_by("k").hopping_window(60, 20).aggregate(n=wb.count(), emit="close"),
}
WHOLE: dict[str, Query] = {
    "sessions": lambda log: log.session_window(5).aggregate(n=wb.count()),
    "so far": lambda log: log.set_duration(1).aggregate(n=wb.count()).set_duration(1).select(s=wb.sum(col.n).so_far()),
    "unbounded": lambda log: log.set_duration(None).aggregate(n=wb.count()),
    "computed duration": lambda log: log.set_duration(col.x + 1).aggregate(n=wb.count()),
    "beats that never meet": lambda log: log.tumbling_window(50).aggregate(n=wb.count()).union(
        log.tumbling_window(30, offset=1).aggregate(n=wb.count())),
}


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_partitions, "_FEWEST_ROWS", 100)
    monkeypatch.setattr(time_partitions, "_BEGIN_ROWS", 0)


def log(times: np.ndarray | None = None) -> Stream:
    random = np.random.default_rng(5)
    times = np.sort(random.integers(-1_000, 3 * ROWS, ROWS)) if times is None else times
    table = pa.table({"at": times, "k": random.integers(0, 5, ROWS), "x": random.integers(0, 10, ROWS)})
    batches = table.to_batches(max_chunksize=700)
    return wb.from_arrow(pa.Table.from_batches(batches), time="at", name="log")


def rows(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


@pytest.mark.share(6)
@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("name", CUT)
def test_a_query_whose_lifetimes_are_bounded_is_cut(name: str, threads: int) -> None:
    query = CUT[name](log())
    cut = time_partitions.collect_side_by_side(query.node, threads)
    assert cut is not None
    assert (np.diff(cut["start"].to_numpy()) >= 0).all()
    assert rows(cut) == rows(query.collect())


@pytest.mark.parametrize("name", WHOLE)
def test_other_queries_stay_whole(name: str) -> None:
    query = WHOLE[name](log())
    assert time_partitions.collect_side_by_side(query.node, 2) is None
    assert rows(query.collect(threads=2)) == rows(query.collect())


def test_two_sources_are_cut_at_the_same_times() -> None:
    query = log().set_duration(9).join(log(np.sort(np.random.default_rng(6).integers(0, 900, ROWS))), on="k")
    cut = time_partitions.collect_side_by_side(query.node, 2)
    assert cut is not None
    assert rows(cut) == rows(query.collect())


@pytest.mark.parametrize("row", [1, ROWS // 2, ROWS - 1, ROWS // 8, ROWS // 4])
def test_rows_out_of_order_are_reported_as_on_one_thread(row: int) -> None:
    times = np.arange(ROWS) * 3
    times[row] = times[row - 1] - 1
    query = log(times).tumbling_window(3).aggregate(n=wb.count())
    with pytest.raises(WhimbrelError) as alone:
        query.collect()
    with pytest.raises(WhimbrelError) as together:
        query.collect(threads=2)
    assert str(together.value) == str(alone.value)
    assert f"Row {row:,} of log" in str(alone.value)


def test_any_row_out_of_order_is_noticed() -> None:
    for row in range(1, ROWS, 37):
        times = np.arange(ROWS) * 3
        times[row:] -= 5
        assert time_partitions.collect_side_by_side(log(times).where(col.x > 3).node, 3) is None


def test_few_windows_are_shared_out_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    query = log(np.arange(ROWS)).tumbling_window(720).aggregate(n=wb.count())
    ends = [piece.end for piece in time_partitions.in_ranges(query.node, 2)]
    assert ends == [720, 1440, 2160, 2880, 3600, INF]
    monkeypatch.setattr(time_partitions, "_BEGIN_ROWS", ROWS)
    assert [piece.end for piece in time_partitions.in_ranges(query.node, 2)] == [2160, INF]


def test_a_log_in_other_order_stays_whole() -> None:
    table = pa.table({"at": [3, 1, 2] * 500, "seen": list(range(1_500))})
    late = wb.from_arrow(table, time="at", arrival="seen").tumbling_window(2).aggregate(n=wb.count())
    assert time_partitions.collect_side_by_side(late.node, 2) is None


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_threads(threads: object) -> None:
    with pytest.raises(WhimbrelError, match="threads must be an integer"):
        log().collect(threads=threads)  # type: ignore[arg-type]


def test_ties_at_a_cut_stay_together() -> None:
    times = np.repeat(np.arange(ROWS // 400), 400)
    query = log(times).tumbling_window(1).aggregate(n=wb.count(), total=wb.sum(col.x))
    cut = time_partitions.collect_side_by_side(query.node, 3)
    assert cut is not None
    assert rows(cut) == rows(query.collect())


@pytest.mark.parametrize("name", ["tumbling", "sliding", "join", "rows"])
@pytest.mark.parametrize("group", [97, 1_000])
def test_parquet_files_are_cut_at_row_groups(name: str, group: int, tmp_path: Path) -> None:
    whole = pa.Table.from_batches(log().batches()).drop_columns(["start", "end"])
    for number in range(2):
        part = whole.slice(number * 2_500, 2_500 if number == 0 else ROWS)
        pq.write_table(part, tmp_path / f"log-{number}.parquet", row_group_size=group)
    query = CUT[name](wb.read_parquet(tmp_path, time="at", name="log"))
    if group < 100:  # else halos, which are whole row groups, are as long as ranges
        assert time_partitions.collect_side_by_side(query.node, 2) is not None
    assert rows(query.collect(threads=2)) == rows(query.collect()) == rows(CUT[name](log()).collect())


def test_an_empty_parquet_file_stays_whole(tmp_path: Path) -> None:
    pq.write_table(pa.table({"at": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    assert wb.read_parquet(tmp_path / "none.parquet", time="at").collect(threads=2).num_rows == 0

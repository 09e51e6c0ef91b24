"""Logs in file order: rows come in the order in which they lie, at the newest time so far."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from whimbrel.connect import FILE_ORDER, ArrowSource, Replay
from whimbrel.errors import PlanError, SchemaError
from whimbrel.testing.conformance.restart import collect_in_two

TIMES = [1, 5, 3, 9, 2, 14, 13, 20]


def log(times: list[int], **options: object) -> wb.Stream:
    rows = {"at": times, "x": list(range(len(times)))}
    return wb.from_arrow(rows, time="at", arrival=wb.FILE_ORDER, name="log", **options)  # type: ignore[arg-type]


def on_time(times: list[int], latency: int) -> list[int]:
    """Times of the rows that are not later than that, in the order of the file."""
    newest = list(itertools.accumulate(times, max))
    return [time for time, before in zip(times, newest, strict=True) if time >= before - latency]


def query(rows: wb.Stream) -> wb.Stream:
    return rows.tumbling_window(4).aggregate(n=wb.count(), last=wb.max(wb.col.x))


def test_history_is_read_whole() -> None:
    assert log(TIMES).collect()["at"].to_pylist() == sorted(TIMES)


@pytest.mark.parametrize("seed", range(20))
def test_lateness_is_measured_against_the_newest_time_so_far(seed: int) -> None:
    draw = random.Random(seed)
    times = [max(0, 3 * row - draw.choice([0, 0, 0, 2, 9, 40])) for row in range(200)]
    latency = draw.choice([0, 3, 10])
    live = wb.replay(log(times), speed=float("inf"), reorder_latency=latency, late="drop")
    assert live.collect()["at"].to_pylist() == sorted(on_time(times, latency))


@pytest.mark.parametrize(("latency", "late_rows"), [(2, 1), (7, 0), (0, 3)])
def test_back_test_and_live_run_are_certified(latency: int, late_rows: int) -> None:
    certificate = query(log(TIMES)).certify(log(TIMES), log(TIMES, reorder_latency=latency, late="drop"))
    assert certificate.ok
    assert certificate.late_rows == late_rows


def test_rows_in_another_order_are_another_log() -> None:
    other = log([*TIMES[:-1], 99])
    assert not query(log(TIMES)).certify(other, log(TIMES, reorder_latency=9, late="drop")).ok


def test_rows_come_at_the_newest_time_so_far() -> None:
    feed = wb.replay(log(TIMES, reorder_latency=9), speed=float("inf"), every=10)
    batches = [batch.sync.tolist() for batch in feed.sources[0].read(("x",)) if batch is not None]
    assert batches == [[1, 5, 3, 9, 2], [14, 13], [20]]


@pytest.mark.parametrize("row", range(len(TIMES)))
def test_a_replay_that_resumes_knows_the_newest_time(row: int) -> None:
    feed = Replay(ArrowSource(pa.table({"at": TIMES}), time="at", arrival=FILE_ORDER), float("inf"), every=10,
                  reorder_latency=9)
    rest = [batch.sync.tolist() for batch in feed.read((), row) if batch is not None]
    assert list(itertools.chain(*rest)) == TIMES[row:]
    assert [14, 13][max(0, row - 5):] in rest or row > 6


def test_a_restart_changes_nothing() -> None:
    live = query(wb.replay(log(TIMES), speed=float("inf"), reorder_latency=2, late="drop"))
    whole = live.collect().to_pylist()
    recorded = query(log(TIMES, reorder_latency=2, late="drop"))
    for rows in range(len(TIMES) + 1):
        assert sorted(map(str, collect_in_two(recorded, {"log": rows}).to_pylist())) == sorted(map(str, whole))


@pytest.mark.parametrize(("start", "end", "expected"), [(5, None, TIMES[1:]), (None, 10, TIMES[:5]),
                                                        (6, 15, [9, 2, 14, 13]), (50, None, [])])
def test_a_range_is_of_the_newest_times(start: int | None, end: int | None, expected: list[int]) -> None:
    feed = wb.replay(log(TIMES), speed=float("inf"), start=start, end=end, reorder_latency=9)
    read = [batch.sync.tolist() for batch in feed.sources[0].read(("x",)) if batch is not None]
    assert list(itertools.chain(*read)) == expected


def test_files_come_one_after_the_other(tmp_path: Path) -> None:
    for part in range(2):
        table = {"at": pa.array(TIMES[4 * part : 4 * part + 4], pa.timestamp("ms"))}
        pq.write_table(pa.table(table), tmp_path / f"{part}.parquet", row_group_size=3)
    files = wb.read_parquet(tmp_path, time="at", arrival=wb.FILE_ORDER, name="log")
    live = wb.replay(files, speed=float("inf"), reorder_latency="2ms", late="drop")
    assert live.collect()["at"].cast(pa.int64()).to_pylist() == sorted(on_time(TIMES, 2))


def test_pandas_rows_lie_in_an_order_too() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": range(len(TIMES))}, index=pd.Index(TIMES, name="at"))
    live = wb.replay(wb.from_pandas(frame, time="at", arrival=wb.FILE_ORDER), speed=float("inf"), reorder_latency=2,
                     late="drop")
    assert live.collect()["at"].to_pylist() == sorted(on_time(TIMES, 2))


def test_a_text_is_a_column() -> None:
    with pytest.raises(SchemaError, match="must be the name of a column"):
        wb.from_arrow({"at": TIMES}, time="at", arrival="wb.FILE_ORDER")


def test_where_rows_have_no_file_order_it_is_refused() -> None:
    with pytest.raises(PlanError, match="rows of a feed are in arrival order"):
        wb.feeds.iterator(lambda: [{"at": 1}], time="at", arrival=wb.FILE_ORDER)
    with pytest.raises(PlanError, match="needs a reorder latency"):
        wb.replay(log(TIMES)).explain()


def test_the_error_of_a_log_without_it_names_it() -> None:
    plain = wb.from_arrow({"at": TIMES}, time="at", reorder_latency=9)
    with pytest.raises(wb.WhimbrelError, match=r"wb\.FILE_ORDER"):
        wb.replay(plain, speed=float("inf")).collect()

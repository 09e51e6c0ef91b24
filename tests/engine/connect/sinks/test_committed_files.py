"""Parquet files that were deleted or damaged while no run was there: a run that resumes names the missing rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S
from whimbrel.connect.sinks import ParquetSink, committed_files
from whimbrel.errors import SinkError

SCHEMA = pa.schema({"at": pa.int64(), "x": pa.string()})
PART = 1_000
ROWS = 3 * PART


def rows(first: int, count: int = PART) -> pa.RecordBatch:
    return pa.record_batch([pa.array(range(first, first + count)), pa.array([f"{at * at}" for at in range(count)])],
                           schema=SCHEMA)


def written(folder: Path) -> list[str]:
    """Three files; the last one is prepared and its checkpoint written, but it is not committed. Its token."""
    sink = opened(folder, 0, None)
    token: list[str] = []
    for first in range(0, ROWS, PART):
        sink.commit(token)
        sink.write(rows(first))
        token = sink.prepare()
    sink.close()
    return token


def opened(folder: Path, known: int, token: list[str] | None) -> ParquetSink:
    sink = ParquetSink(folder)
    sink.run = "run"
    sink.open(SCHEMA, known, token)
    return sink


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def remove(path: Path) -> None:
    path.unlink()


def make_empty(path: Path) -> None:
    path.write_bytes(b"")


def cut_the_end(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def cut_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:path.stat().st_size // 2])


def cut_the_middle(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + whole[200:])


def fill_with_zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def hold_fewer_rows(path: Path) -> None:
    parquet.write_table(parquet.read_table(path).slice(1), path)


def rename_columns(path: Path) -> None:
    table = parquet.read_table(path)
    parquet.write_table(table.rename_columns([f"{name}_" for name in table.column_names]), path)


def change_a_byte(path: Path) -> None:
    """The file keeps its length and its footer; the row counts in it are right."""
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 3] ^= 0x55
    path.write_bytes(whole)


HARMS = [remove, change_a_byte, make_empty, cut_the_end, cut_half, cut_the_middle, fill_with_zeros, hold_fewer_rows,
         rename_columns]


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("harm", HARMS)
def test_a_run_does_not_resume_where_rows_are_missing(tmp_path: Path, harm: Callable[[Path], None], part: int) -> None:
    token = written(tmp_path)
    name = f"rows-{part * PART:015}-{(part + 1) * PART:015}.parquet"
    harm(tmp_path / (f".{name}" if part == 2 else name))
    named = f"rows {part * PART:,} to {(part + 1) * PART - 1:,} "
    for _ in range(2):  # the folder is not held by a run that was refused
        with pytest.raises(SinkError, match=f"wrote 3,000 rows.* {named}") as refused:
            opened(tmp_path, ROWS, token)
        assert harm is remove or name in str(refused.value)
        assert len(str(refused.value).splitlines()) <= 8


def test_files_that_were_copied_are_read_and_others_only_by_their_footers(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = written(tmp_path)
    opened(tmp_path, ROWS, token).close()
    read: list[str] = []
    whole = committed_files.pages_are_whole
    monkeypatch.setattr(committed_files, "pages_are_whole", lambda path: read.append(path.name) or whole(path))
    opened(tmp_path, ROWS, []).close()
    assert not read
    copied = tmp_path / f"rows-{0:015}-{PART:015}.parquet"
    copied.write_bytes(copied.read_bytes())
    opened(tmp_path, ROWS, []).close()
    assert read == [copied.name]


@pytest.mark.parametrize("harm", HARMS)
def test_a_folder_that_is_refused_is_left_as_it_is(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    token = written(tmp_path)
    opened(tmp_path, ROWS, token).close()
    harm(tmp_path / f"rows-{0:015}-{PART:015}.parquet")
    before = contents(tmp_path)
    with pytest.raises(SinkError, match="rows 0 to 999 "):
        opened(tmp_path, 2 * PART, [])  # files of the last part would be removed
    assert contents(tmp_path) == before


def test_all_ranges_are_named_and_only_few_of_many(tmp_path: Path) -> None:
    token = written(tmp_path)
    for path in [*tmp_path.glob("*.parquet")]:
        path.unlink()
    with pytest.raises(SinkError, match=r"rows 0 to 2,999 \(no file\)\."):
        opened(tmp_path, ROWS, token)
    with pytest.raises(SinkError, match=r"rows 0 to 9 \(no file\)\."):
        opened(tmp_path, 10, [])
    for first in range(1, 12, 2):
        parquet.write_table(pa.Table.from_batches([rows(first, 1)]),
                            tmp_path / f"rows-{first:015}-{first + 1:015}.parquet")
    with pytest.raises(SinkError, match=r"rows 0 to 0 .*rows 2 to 2 .*rows 4 to 4 .*; and 3 more\."):
        opened(tmp_path, 12, [])


def test_a_file_that_was_copied_would_give_its_rows_twice(tmp_path: Path) -> None:
    token = written(tmp_path)
    opened(tmp_path, ROWS, token).close()
    parquet.write_table(pa.Table.from_batches([rows(0, 10)]), tmp_path / f"rows-{0:015}-{10:015}.parquet")
    with pytest.raises(SinkError, match=r"rows 0 to 9 \(twice"):
        opened(tmp_path, ROWS, token)


def test_whole_files_are_kept_after_a_restart_and_those_of_others_stay(tmp_path: Path) -> None:
    token = written(tmp_path)
    (tmp_path / "rows-notes.parquet").write_bytes(b"of somebody else")
    sink = opened(tmp_path, ROWS, token)
    sink.write(rows(ROWS))
    sink.commit(sink.prepare())
    sink.close()
    opened(tmp_path, ROWS, []).close()  # an older checkpoint: what follows it is written again
    assert sorted(path.name for path in tmp_path.glob("rows-*")) == [
        *(f"rows-{first:015}-{first + PART:015}.parquet" for first in range(0, ROWS, PART)), "rows-notes.parquet"]


def test_a_run_that_wrote_nothing_resumes(tmp_path: Path) -> None:
    opened(tmp_path, 0, None).close()
    opened(tmp_path, 0, []).close()


@pytest.mark.parametrize("harm", [remove, cut_half])
def test_a_query_is_refused_that_would_resume_without_its_first_rows(tmp_path: Path,
                                                                     harm: Callable[[Path], None]) -> None:
    def start() -> wb.Run:
        feed = wb.feeds.iterator(lambda: [{"at": at} for at in range(100)], time="at", schema={"at": "int64"})
        return feed.tumbling_window(10).aggregate(n=wb.count()).start(
            sink=wb.sinks.parquet(tmp_path / "out"), checkpoints=wb.Checkpoints(tmp_path / "state"))

    assert start().wait(PATIENCE_S)
    kept = min((tmp_path / "out").glob("rows-*.parquet"))
    whole = kept.read_bytes()
    harm(kept)
    with pytest.raises(SinkError, match="The run wrote 10 rows, and some are missing: rows 0 to "):
        start()
    kept.write_bytes(whole)
    assert start().wait(PATIENCE_S)

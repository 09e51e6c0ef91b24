from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.engine.connect.reading import Row, batches, rows
from whimbrel.connect import ArrowSource, ParquetSource
from whimbrel.connect.files import parquet_files
from whimbrel.errors import SourceError

ROWS = 500
LOG = pa.table({
    "t": pa.array(np.arange(ROWS)).cast(pa.timestamp("ms", "UTC")),
    "key": [f"key {row % 7}" for row in range(ROWS)],
    "note": [None if row % 3 == 0 else f"note {row}" for row in range(ROWS)],
    "x": pa.array([None if row % 5 == 0 else row / 2 for row in range(ROWS)]),
})
COLUMNS = ("x", "key", "note")
EXPECTED: list[Row] = rows(ArrowSource(LOG, time="t"), COLUMNS)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "flights.parquet"
    pq.write_table(LOG, path, row_group_size=64)
    return path


def test_a_file_gives_its_rows_in_order_every_time(log: Path) -> None:
    source = ParquetSource(log, time="t")
    assert (source.name, source.rows, source.schema.unit, source.schema.zone) == ("flights", ROWS, "ms", "UTC")
    for _ in range(2):
        assert rows(source, COLUMNS) == EXPECTED


def test_only_the_footer_is_read_at_first(log: Path) -> None:
    data = bytearray(log.read_bytes())
    data[4:len(data) // 2] = bytes(len(data) // 2 - 4)
    log.write_bytes(data)
    assert ParquetSource(log, time="t").rows == ROWS


@pytest.mark.parametrize("read", (0, 1))
def test_a_file_that_was_rewritten_is_not_read_with_the_metadata_of_the_old_one(tmp_path: Path, read: int) -> None:
    path, rows = tmp_path / "log.parquet", 2_000_000
    pq.write_table(pa.table({"t": np.arange(rows), "x": np.zeros(rows)}), path, row_group_size=rows // 20)
    found = ParquetSource(path, time="t").read(["x"])
    for _ in range(read):
        next(found)
    pq.write_table(pa.table({"t": np.arange(rows), "x": np.ones(rows)}), path, row_group_size=rows // 20)
    with pytest.raises(SourceError, match=r"log\.parquet' changed after it was opened") as caught:
        list(found)
    assert caught.value.where == f"read_parquet({str(path)!r}, time='t')"


def test_many_tiny_row_groups_are_read_together(tmp_path: Path) -> None:
    path = tmp_path / "tiny.parquet"
    pq.write_table(LOG, path, row_group_size=1, use_dictionary=["key"])
    source = ParquetSource(path, time="t")
    assert [len(batch) for batch in batches(source, COLUMNS)] == [ROWS]
    assert rows(source, COLUMNS, offset=7) == EXPECTED[7:]


@pytest.mark.parametrize("whole_bytes", (0, parquet_files.WHOLE_BYTES))
@pytest.mark.parametrize("offset", (0, 1, 63, 64, 65, 499, 500, 700))
def test_reading_from_a_row_gives_the_tail(log: Path, offset: int, whole_bytes: int,
                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "WHOLE_BYTES", whole_bytes)
    assert rows(ParquetSource(log, time="t"), COLUMNS, offset) == EXPECTED[offset:]


def test_only_the_columns_asked_for_in_their_order(log: Path) -> None:
    batch = next(batches(ParquetSource(log, time="t"), ["x", "t"]))
    assert batch.schema.names == ("x", "t")


def test_text_that_repeats_stays_a_dictionary(log: Path) -> None:
    batch = next(batches(ParquetSource(log, time="t"), ["key", "note"]))
    assert pa.types.is_dictionary(batch.column("key").values.type)
    assert pa.types.is_string(batch.column("note").values.type)


@pytest.mark.parametrize("offset", (0, 250, 251, 420))
def test_several_files_are_one_log(tmp_path: Path, offset: int) -> None:
    pq.write_table(LOG.slice(0, 250), tmp_path / "a.parquet", row_group_size=100)
    pq.write_table(LOG.slice(250, 0), tmp_path / "b.parquet")
    (tmp_path / "c").mkdir()
    pq.write_table(LOG.slice(250), tmp_path / "c" / "d.parquet", row_group_size=100)
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "e.parquet").write_bytes(b"")
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "c" / "d.parquet"]
    for path in (tmp_path, str(tmp_path / "**" / "[a-d].parquet"), files):
        source = ParquetSource(path, time="t")
        assert source.rows == ROWS
        assert rows(source, COLUMNS, offset) == EXPECTED[offset:]


def test_a_file_without_rows_is_an_empty_stream(tmp_path: Path) -> None:
    for row_groups in (LOG.slice(0, 0), LOG.schema.empty_table()):
        pq.write_table(row_groups, tmp_path / "empty.parquet")
        source = ParquetSource(tmp_path / "empty.parquet", time="t")
        assert (source.rows, rows(source, COLUMNS)) == (0, [])


def test_closing_early_ends_the_reading_thread(log: Path) -> None:
    before = threading.active_count()
    reading = ParquetSource(log, time="t").read(["x"])
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before


def test_a_missing_file_is_offered_its_near_match(log: Path) -> None:
    with pytest.raises(SourceError, match=r"There is no file .*flihgts.parquet") as caught:
        ParquetSource(log.with_name("flihgts.parquet"), time="t")
    assert caught.value.hint == "Use 'flights.parquet'; the files are flights.parquet."


def test_a_missing_folder_pattern_and_list_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        ParquetSource(tmp_path / "none" / "x.parquet", time="t")
    assert "there is no folder" in caught.value.hint
    with pytest.raises(SourceError, match=r"No file matches '.*\*\.parquet'"):
        ParquetSource(tmp_path / "*.parquet", time="t")
    with pytest.raises(SourceError, match=r"There is no \.parquet file in"):
        ParquetSource(tmp_path, time="t")
    with pytest.raises(SourceError, match="The list of files is empty"):
        ParquetSource([], time="t")


def test_a_file_that_is_empty_or_cut_short_is_refused(log: Path) -> None:
    whole = log.read_bytes()
    log.write_bytes(b"")
    with pytest.raises(SourceError, match=r"flights.parquet' is empty \(0 bytes\)"):
        ParquetSource(log, time="t")
    log.write_bytes(whole[:-20])
    with pytest.raises(SourceError, match=r"flights.parquet' cannot be read as Parquet: ") as caught:
        ParquetSource(log, time="t")
    assert caught.value.where == f"read_parquet({str(log)!r}, time='t')"
    assert len(str(caught.value).splitlines()) <= 8


def test_a_damaged_page_is_an_error_that_names_the_file(log: Path) -> None:
    page = pq.read_metadata(log).row_group(5).column(3).data_page_offset
    data = bytearray(log.read_bytes())
    data[page:page + 40] = b"\xff" * 40
    log.write_bytes(data)
    reading = batches(ParquetSource(log, time="t"), ["x"])
    with pytest.raises(SourceError, match=r"flights.parquet' cannot be read as Parquet: "):
        list(reading)


def test_reading_needs_neither_pandas_nor_spark_nor_numba(log: Path) -> None:
    code = (f"import sys; from whimbrel.connect import ParquetSource; next(ParquetSource({str(log)!r}, time='t')"
            ".read(['x', 'key'])); sys.exit(bool({'pandas', 'pyspark', 'numba'} & set(sys.modules)))")
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.data
def test_a_large_log_is_read_to_its_end() -> None:
    data = Path(__file__).parents[4] / "shared" / "data" / "flights_us_2001h1.parquet"
    source = ParquetSource(data, time="dep_time")
    assert sum(len(batch) for batch in batches(source, ["origin"])) == source.rows == 3_000_000

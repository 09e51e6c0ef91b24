from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import whimbrel as wb
from whimbrel import col
from whimbrel.connect import ParquetSource
from whimbrel.errors import SchemaError, SourceError


def written(at: Path, *folders: str) -> Path:
    """Two rows in a file of each folder, at consecutive times."""
    for number, folder in enumerate(folders):
        (at / folder).mkdir(parents=True)
        pq.write_table(pa.table({"t": [2 * number, 2 * number + 1]}), at / folder / "a.parquet", row_group_size=1)
    return at


def rows(path: Path, name: str) -> list[object]:
    return wb.read_parquet(path, time="t").collect()[name].to_pylist()


@pytest.mark.parametrize(("folders", "type_", "values"), (
    (("n=9", "n=010", "n=__HIVE_DEFAULT_PARTITION__"), pa.int64(), [9, 10, None]),
    (("n=2024-01-31", "n=2024-02-01"), pa.date32(), [date(2024, 1, 31), date(2024, 2, 1)]),
    (("n=2024-01-31", "n=2024-02-31"), pa.string(), ["2024-01-31", "2024-02-31"]),
    (("n=", "n=a%2Fb", "n=x=1"), pa.string(), ["", "a/b", "x=1"]),
), ids=["numbers", "dates", "no dates", "texts"])
def test_folders_are_read_in_the_order_of_their_values(tmp_path: Path, folders: tuple[str, ...], type_: pa.DataType,
                                                       values: list[object]) -> None:
    log = written(tmp_path, *folders)
    assert ParquetSource(log, time="t").schema.type_of("n") == type_
    assert rows(log, "n") == [value for value in values for _ in range(2)]
    assert rows(log, "t") == list(range(2 * len(values)))


def test_what_arrow_writes_is_read_whole_and_in_part(tmp_path: Path) -> None:
    table = pa.table({"t": range(12), "year": [2023] * 6 + [2024] * 6, "town": ["Ulm", "Köln"] * 6, "x": range(12)})
    ds.write_dataset(table, tmp_path, format="parquet", partitioning=["year", "town"], partitioning_flavor="hive")
    log = wb.read_parquet(tmp_path, time="t", reorder_latency=12)
    found = log.collect().select(table.column_names)
    assert found.sort_by("t").cast(table.schema).equals(table)
    some = log.where(col.year == 2024, col.town == "Ulm").aggregate(n=wb.sum(col.x)).collect()
    assert some["n"].to_pylist() == [6, 8, 10]


def test_files_that_a_condition_leaves_out_are_not_read(tmp_path: Path) -> None:
    query = wb.read_parquet(written(tmp_path, "day=1", "day=2", "day=3"), time="t").where(col.day >= 2)
    (tmp_path / "day=1" / "a.parquet").unlink()
    assert "4 of 6 row groups" in query.explain()
    assert query.collect()["day"].to_pylist() == [2, 2, 3, 3]
    assert query.select("day").collect(threads=2)["day"].to_pylist() == [2, 2, 3, 3]


def test_a_folder_may_say_when_its_rows_are(tmp_path: Path) -> None:
    log = written(tmp_path, "day=2024-01-02", "day=2024-01-03")
    found = wb.read_parquet(log, time="day").aggregate(n=wb.count()).collect()
    assert found["n"].to_pylist() == [2, 2]


def test_folders_that_do_not_agree_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "mixed", "day=1", "hour=2")
    with pytest.raises(SourceError, match=r"hour=2.a\.parquet' name 'hour', others 'day'"):
        ParquetSource(tmp_path / "mixed", time="t")
    with pytest.raises(SchemaError, match="Column 't' is both in the files and in the names of their folders"):
        ParquetSource(written(tmp_path / "twice", "t=1"), time="t")
    with pytest.raises(SourceError, match=r"has columns in the names of its folders \(day=1\)"):
        ParquetSource([written(tmp_path / "listed", "day=1")], time="t")


@pytest.mark.parametrize("pattern", ("*/*.csv", "day=*/*.csv", "**/*.csv", "day=[12]/a.*", "day=*", "*"))
@pytest.mark.parametrize("local", (True, False))
def test_a_pattern_has_the_columns_of_the_folders_that_it_leaves_open(tmp_path: Path, pattern: str,
                                                                      local: bool) -> None:
    for day in (1, 2, "2/_old"):
        (tmp_path / f"log/day={day}").mkdir(parents=True)
        (tmp_path / f"log/day={day}/{'b.txt' if day == '2/_old' else 'a.csv'}").write_text(f"t\n{day}\n")
    system = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    log = (wb.read_csv(tmp_path / "log" / pattern, time="t") if local
           else wb.read_csv(f"log/{pattern}", time="t", filesystem=system))
    assert log.collect()["day"].to_pylist() == [1, 2]
    assert "1 of 2 files" in log.where(col.day == 2).explain()


def test_a_pattern_of_parquet_files_has_the_columns_of_folders(tmp_path: Path) -> None:
    assert rows(written(tmp_path, "day=1", "day=2") / "day=*" / "*.parquet", "day") == [1, 1, 2, 2]
    with pytest.raises(SourceError, match=r"has columns in the names of its folders \(day=1\)"):
        wb.read_parquet([tmp_path / "day=*"], time="t")


@pytest.mark.parametrize(("read", "text"), [(wb.read_csv, "t,zip2\n{},1\n"), (wb.read_json, '{{"t":{},"zip2":1}}\n')],
                         ids=["csv", "json"])
def test_a_schema_may_type_columns_of_folders(tmp_path: Path, read: Any, text: str) -> None:
    for number, each in enumerate(("00123", "1234", "__HIVE_DEFAULT_PARTITION__")):
        (tmp_path / f"zip={each}").mkdir()
        (tmp_path / f"zip={each}" / f"a{'.csv' if read is wb.read_csv else '.jsonl'}").write_text(text.format(number))
    for type_, values in (("string", ["00123", "1234", None]), ("int32", [123, 1234, None]),
                          ("decimal(8, 2)", [Decimal(123), Decimal(1234), None])):
        found = read(tmp_path, time="t", schema={"zip": type_, "zip2": float}).collect()
        assert (found["zip"].to_pylist(), found["zip2"].type) == (values, pa.float64())
    assert read(tmp_path, time="t", schema={"zip": str}).where(col.zip == "00123").collect().num_rows == 1
    with pytest.raises(SchemaError, match=r"schema has date32\[day\] for 'zip', but the folders have other values"):
        read(tmp_path, time="t", schema={"zip": "date32"})

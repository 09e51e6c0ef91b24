"""What a CSV file can be said to be like: its nulls, its decimal point, and lines before its header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.errors import PlanError, SourceError


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def rows(log: wb.Stream, *columns: str) -> list[Any]:
    return log.select(*columns).collect().select(list(columns)).to_pylist()


def test_texts_that_are_null_can_be_named(tmp_path: Path) -> None:
    file = written(tmp_path / "log.csv", 'at,x,k\n1,-,-\n2,2,"?"\n?,3,c\n4,,NA\n5,oops,\n6,NA,d\n7,7,\n')
    log = wb.read_csv(file, time="at", null_values=["-", "?"], schema={"x": "int64"})
    assert rows(log, "at", "x", "k") == [
        {"at": 1, "x": None, "k": None}, {"at": 2, "x": 2, "k": None}, {"at": 4, "x": None, "k": "NA"},
        {"at": 7, "x": 7, "k": None}]
    assert wb.dead_letters(log).collect()["line"].to_pylist() == [4, 6, 7]
    with pytest.raises(PlanError, match="null_values must be a list of texts, got '-'"):
        wb.read_csv(file, time="at", null_values="-")


@pytest.mark.parametrize(("delimiter", "quote"), [(";", ""), (",", '"')])
def test_a_comma_can_be_the_decimal_point(tmp_path: Path, delimiter: str, quote: str) -> None:
    lines = [["at", "x", "y"], ["1", "1,5", "-2,0"], ["2", "oops", "1,0"], ["3", "1.5", "1,0"], ["4", "2", "1e3"]]
    text = "\n".join(delimiter.join(f"{quote}{value}{quote}" for value in line) for line in lines)
    log = wb.read_csv(written(tmp_path / "log.csv", text), time="at", delimiter=delimiter, decimal=",",
                      schema={"x": "double"})
    assert rows(log, "x", "y") == [{"x": 1.5, "y": -2.0}, {"x": 2.0, "y": 1000.0}]
    assert wb.dead_letters(log).collect()["line"].to_pylist() == [3, 4]


@pytest.mark.parametrize(("options", "type_"), [
    ({"schema": {"at": "int64"}}, pa.int64()), ({"time_format": "%d.%m.%Y"}, pa.timestamp("us")),
    ({"timezone": "Europe/Berlin"}, pa.timestamp("us", "Europe/Berlin"))])
def test_a_header_alone_is_a_log_without_rows(tmp_path: Path, options: dict[str, Any], type_: pa.DataType) -> None:
    log = wb.read_csv(written(tmp_path / "log.csv", "at,x"), time="at", **options)
    found = log.collect()
    assert (found.num_rows, found.schema.field("at").type) == (0, type_)


@pytest.mark.parametrize("names", [None, ["at", "x"]])
def test_lines_before_the_header_are_skipped(tmp_path: Path, names: list[str] | None) -> None:
    header = "" if names else "\nat,x\n"
    file = written(tmp_path / "log.csv", f'A title, of "two\n\nlines\n{header}1,1\n2,two\n3,3\n')
    log = wb.read_csv(file, time="at", skip_rows=3, column_names=names, schema={"x": "int64"})
    assert rows(log, "at", "x") == [{"at": 1, "x": 1}, {"at": 3, "x": 3}]
    assert wb.dead_letters(log).collect()["line"].to_pylist() == [5 if names else 7]


def test_skipped_lines_are_checked(tmp_path: Path) -> None:
    file = written(tmp_path / "log.csv", "at,x\n1,1\n")
    with pytest.raises(SourceError, match="it has no header line after 5 lines"):
        wb.read_csv(file, time="at", skip_rows=5)
    for skip_rows in (-1, 1.0, True, None):
        with pytest.raises(PlanError, match="skip_rows must be an integer of at least 0"):
            wb.read_csv(file, time="at", skip_rows=skip_rows)

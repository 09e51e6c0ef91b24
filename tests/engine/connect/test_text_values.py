"""Types that a schema gives to values of text files."""

from __future__ import annotations

from datetime import datetime, time
from pathlib import Path

import pyarrow as pa
import pytest

import whimbrel as wb


def values_of(file: Path, text: str, type_: pa.DataType) -> list[object]:
    """Values of column ``v``, read with this type."""
    file.write_text(text)
    read = wb.read_csv if file.suffix == ".csv" else wb.read_json
    return read(file, time="at", schema={"v": type_}).collect()["v"].to_pylist()


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_empty_texts_of_csv_are_null(tmp_path: Path, type_: pa.DataType) -> None:
    assert values_of(tmp_path / "log.csv", "at,v\n1,a\n2,\n", type_) == ["a", None]


def test_zeros_after_the_digits_of_a_unit_are_no_loss(tmp_path: Path) -> None:
    text = "at,v\n1,2024-01-01T00:00:00.500000\n2,NA\n3,2024-01-01T00:00:00.500001\n4,\n"
    half = datetime(2024, 1, 1, 0, 0, 0, 500_000)
    assert values_of(tmp_path / "log.csv", text, pa.timestamp("ms")) == [half, None, None]
    assert values_of(tmp_path / "log.csv", "at,v\n1,10:00:00.500000\n", pa.time32("ms")) == [time(10, 0, 0, 500_000)]

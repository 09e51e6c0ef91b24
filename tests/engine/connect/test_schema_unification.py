"""Files of one folder whose columns differ: united in a type that holds every value exactly, or refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from tests.engine.connect.reading import batches, rows
from whimbrel import col
from whimbrel.connect import ParquetSource
from whimbrel.connect.files.common_type import wider_type
from whimbrel.errors import SchemaError, SourceError

DAY = datetime(2024, 3, 1, 12)
TYPES: dict[pa.DataType, list[Any]] = {
    pa.string(): ["a", None], pa.large_string(): ["b"], pa.string_view(): ["c"],
    pa.dictionary(pa.int8(), pa.string()): ["d", "d"], pa.dictionary(pa.int32(), pa.string()): ["e", None],
    pa.binary(): [b"a"], pa.large_binary(): [b"b"], pa.binary_view(): [b"c"], pa.binary(2): [b"ab"],
    pa.null(): [None, None], pa.bool_(): [True, False],
    **{type_: [0, None, 127] for type_ in (pa.int8(), pa.int16(), pa.int32())}, pa.int64(): [2**53 + 1, -2**63],
    **{type_: [255] for type_ in (pa.uint8(), pa.uint16(), pa.uint32())}, pa.uint64(): [2**64 - 1],
    pa.float16(): [0.5, None], pa.float32(): [0.25], pa.float64(): [0.1],
    pa.decimal32(5, 2): [Decimal("123.45")], pa.decimal64(18, 0): [Decimal(10**18 - 1)],
    pa.decimal128(38, 10): [Decimal("0.0000000001")], pa.decimal256(70, 1): [Decimal("1" * 69 + ".5"), None],
    pa.date32(): [date(2024, 3, 1)], pa.time32("ms"): [time(1, 2, 3, 4000)], pa.time64("us"): [time(1, 2, 3, 4)],
    **{pa.timestamp(unit): [DAY, None] for unit in ("ms", "us", "ns")},
    **{pa.timestamp(unit, "UTC"): [DAY] for unit in ("ms", "ns")}, pa.timestamp("us", "+00:00"): [DAY],
    pa.timestamp("us", "Europe/Paris"): [DAY],
    **{pa.duration(unit): [timedelta(hours=1)] for unit in ("s", "ms", "us", "ns")},
    pa.list_(pa.string()): [["a", None], None], pa.large_list(pa.large_string()): [["b"], []],
    pa.list_(pa.int32()): [[1]], pa.large_list(pa.int64()): [[2**40]],
    pa.struct({"a": pa.int32()}): [{"a": 1}], pa.struct({"a": pa.int64()}): [{"a": 2**40}, None],
    pa.struct({"b": pa.int64()}): [{"b": 1}], pa.list_(pa.struct({"a": pa.timestamp("ms")})): [[{"a": DAY}]],
    pa.list_(pa.struct({"a": pa.timestamp("us")})): [[{"a": DAY}]], pa.uuid(): [b"0123456789abcdef"],
    pa.map_(pa.string(), pa.int32()): [[("a", 1)]], pa.map_(pa.string(), pa.int64()): [[("a", 1)]],
}
UNITED = (
    (pa.string(), pa.large_string(), pa.string()),
    (pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.string()),
    (pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.string()), pa.string()),
    (pa.binary(), pa.large_binary(), pa.binary()),
    (pa.int8(), pa.int64(), pa.int64()), (pa.int16(), pa.uint8(), pa.int16()), (pa.int16(), pa.uint16(), pa.int32()),
    (pa.uint8(), pa.uint64(), pa.uint64()), (pa.int8(), pa.uint32(), pa.int64()),
    (pa.float16(), pa.float64(), pa.float64()), (pa.float32(), pa.float64(), pa.float64()),
    (pa.timestamp("ms"), pa.timestamp("ns"), pa.timestamp("ns")),
    (pa.timestamp("ms", "UTC"), pa.timestamp("us", "+00:00"), pa.timestamp("us", "UTC")),
    (pa.time32("ms"), pa.time64("us"), pa.time64("us")), (pa.duration("s"), pa.duration("ns"), pa.duration("ns")),
    (pa.decimal32(5, 2), pa.decimal64(18, 0), pa.decimal128(20, 2)),
    (pa.decimal128(38, 10), pa.decimal32(5, 2), pa.decimal128(38, 10)),
    (pa.decimal256(70, 1), pa.decimal128(38, 10), None),
    (pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_(pa.string())),
    (pa.struct({"a": pa.int32()}), pa.struct({"a": pa.int64()}), pa.struct({"a": pa.int64()})),
    *((pa.null(), type_, type_) for type_ in (pa.string(), pa.int8(), pa.timestamp("us"), pa.bool_(), pa.uuid())),
)
APART = (
    (pa.string(), pa.int64()), (pa.string(), pa.binary()), (pa.int64(), pa.uint64()), (pa.int8(), pa.float64()),
    (pa.int64(), pa.timestamp("us")), (pa.timestamp("us"), pa.timestamp("us", "UTC")), (pa.bool_(), pa.int8()),
    (pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Paris")), (pa.date32(), pa.timestamp("us")),
    (pa.duration("s"), pa.int64()), (pa.struct({"a": pa.int32()}), pa.struct({"b": pa.int32()})),
    (pa.list_(pa.string()), pa.string()), (pa.decimal128(38, 0), pa.int64()),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of each type."""
    folder = tmp_path_factory.mktemp("types")
    for number, (type_, values) in enumerate(TYPES.items()):
        storage = type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_
        array = pa.array(values, storage).cast(type_)
        pq.write_table(pa.table({"t": range(len(values)), "x": array}), folder / f"{number}.parquet")
    return folder


def values_of(source: ParquetSource) -> Iterator[Any]:
    for batch in source.read(["x"]):
        assert batch is not None
        yield from batch.column("x").to_arrow().to_pylist()


@pytest.mark.parametrize("number", range(len(TYPES)))
def test_every_pair_of_types_is_united_exactly_or_refused_by_name(folder: Path, number: int) -> None:
    united, types = 0, list(TYPES)
    alone = [list(values_of(ParquetSource(folder / f"{each}.parquet", time="t"))) for each in range(len(TYPES))]
    for other in range(len(TYPES)):
        files = [folder / f"{each}.parquet" for each in (number, other)]
        if wider_type(types[number], types[other]) is None:
            with pytest.raises(SchemaError, match=rf"'x' .* '{number}.parquet' and .* '{other}.parquet'"):
                ParquetSource(files, time="t")
            continue
        source = ParquetSource(files, time="t")
        united += 1
        assert list(values_of(source)) == alone[number] + alone[other]
    assert united >= 2  # itself, and what is null


@pytest.mark.parametrize(("one", "other", "both"), UNITED)
def test_the_type_of_both_is_the_narrowest_that_holds_both(
        one: pa.DataType, other: pa.DataType, both: pa.DataType | None) -> None:
    assert wider_type(one, other) == wider_type(other, one) == both


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_no_type_holds_is_refused_before_a_row_is_read(
        tmp_path: Path, one: pa.DataType, other: pa.DataType) -> None:
    for name, type_ in (("a", one), ("b", one), ("c", other)):
        pq.write_table(pa.table({"t": [1], "x": pa.nulls(1, type_)}), tmp_path / f"{name}.parquet")
    with pytest.raises(SchemaError) as caught:
        wb.read_parquet(tmp_path, time="t")
    message = str(caught.value)
    assert "Column 'x' is " in message
    assert " in 'a.parquet' and " in message
    assert " in 'c.parquet'." in message
    assert caught.value.where == f"read_parquet({str(tmp_path)!r}, time='t')"
    assert len(message.splitlines()) <= 8


def test_files_of_one_name_are_distinguished_by_their_folders(tmp_path: Path) -> None:
    for day, values in ((1, [1]), (2, ["a"])):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"t": [1], "x": values}), tmp_path / f"day={day}" / "part.parquet")
    with pytest.raises(SchemaError, match=r"int64 in '.*day=1.part.parquet' and string in '.*day=2.part.parquet'"):
        wb.read_parquet(tmp_path, time="t")


def test_the_pair_is_named_that_cannot_be_united(tmp_path: Path) -> None:
    for name, type_ in (("a", pa.null()), ("b", pa.uint64()), ("c", pa.int8())):
        pq.write_table(pa.table({"t": [1], "x": pa.nulls(1, type_)}), tmp_path / f"{name}.parquet")
    with pytest.raises(SchemaError, match=r"'x' is uint64 in 'b.parquet' and int8 in 'c.parquet'"):
        wb.read_parquet(tmp_path, time="t")


def test_a_column_that_is_there_twice_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [1], "x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table([[1], [1], [1]], names=["t", "x", "x"]), tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match=r"'x' is in 'b.parquet' twice"):
        wb.read_parquet(tmp_path, time="t")


def test_a_column_that_a_file_lacks_is_null_in_its_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [1, 2], "x": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"t": [3, 4], "y": ["a", "b"]}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"y": ["c"], "t": [5], "x": pa.array([5], pa.int32())}), tmp_path / "c.parquet")
    log = wb.read_parquet(tmp_path, time="t")
    found = log.collect()
    assert found["x"].to_pylist() == [1, 2, None, None, 5]
    assert found["y"].to_pylist() == [None, None, "a", "b", "c"]
    assert log.select("y").collect()["y"].to_pylist() == [None, None, "a", "b", "c"]
    assert log.where(col.x > 1).collect()["t"].to_pylist() == [2, 5]
    assert log.where(col.x.is_null()).collect()["t"].to_pylist() == [3, 4]
    assert log.where(col.t > 2).tumbling_window(10).aggregate(n=wb.count(col.x)).collect()["n"].to_pylist() == [1]


def test_a_time_that_a_file_lacks_is_an_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [1], "x": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match=r"'t' is int64 in 'a.parquet' and missing in 'b.parquet'"):
        wb.read_parquet(tmp_path, time="t")


def test_columns_in_another_order_and_of_other_types_are_found_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [1], "x": pa.array([1], pa.int32()), "k": ["a"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"k": pa.array(["b"], pa.large_string()), "x": [2], "t": [2]}), tmp_path / "b.parquet")
    assert rows(ParquetSource(tmp_path, time="t"), ["k", "x"]) == [(1, 2, "a", 1), (2, 3, "b", 2)]


@pytest.mark.parametrize("units", (("ms", "us"), ("us", "ms"), ("ms", "ns")))
def test_a_time_column_of_two_units_counts_in_the_finer_one(tmp_path: Path, units: tuple[str, str]) -> None:
    moments = [[datetime(2024, 1, 1, hour) for hour in hours] for hours in (range(6), range(6, 12))]
    for name, unit, times in zip("ab", units, moments, strict=True):
        pq.write_table(pa.table({"t": pa.array(times, pa.timestamp(unit)), "x": times}), tmp_path / f"{name}.parquet",
                       row_group_size=2)
    log = wb.read_parquet(tmp_path, time="t")
    source = ParquetSource(tmp_path, time="t")
    assert source.schema.unit == max(units, key=("ms", "us", "ns").index)
    blocks = source.blocks(1)
    assert blocks is not None
    assert len(blocks.first) == 6
    assert log.tumbling_window("6h").aggregate(n=wb.count()).collect()["n"].to_pylist() == [6, 6]
    assert len(log.where(col.t >= datetime(2024, 1, 1, 8)).collect()) == 4


@pytest.mark.parametrize("types", ((pa.int32(), pa.int64()), (pa.int64(), pa.int32()), (pa.int8(), pa.uint16()),
                                   (pa.string(), pa.large_string()), (pa.null(), pa.int64())))
def test_row_groups_are_left_out_by_what_each_file_says(tmp_path: Path, types: tuple[pa.DataType, ...]) -> None:
    for name, type_, values in zip("ab", types, (range(6), range(6, 12)), strict=True):
        held = [None] * 6 if type_ == pa.null() else [str(10 + x) if "string" in str(type_) else x for x in values]
        pq.write_table(pa.table({"t": values, "x": pa.array(held, type_)}), tmp_path / f"{name}.parquet",
                       row_group_size=2)
    source = ParquetSource(tmp_path, time="t")
    bound: Any = "20" if "string" in str(types[0]) else 10
    part = source.where([col.x >= bound])
    known = 0 if types[0] != pa.null() else 3
    assert part.read_of == f"{known + 1} of 6 row groups"
    assert [x for *_, x in rows(part, ["x"]) if x is not None] == ([bound, bound + 1] if bound == 10 else ["20", "21"])


FAR = datetime(9999, 12, 31)


def test_a_time_that_the_finer_unit_cannot_hold_is_refused_from_the_footer(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [1], "x": pa.array([FAR], pa.timestamp("us"))}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"t": [1], "x": pa.array([DAY], pa.timestamp("ns"))}), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match=r"'x' of 'a.parquet' holds times beyond timestamp\[ns\], which 'b.parquet'"):
        wb.read_parquet(tmp_path, time="t")


@pytest.mark.parametrize("nested", (False, True))
def test_a_time_that_no_footer_tells_of_is_refused_when_it_is_read(tmp_path: Path, nested: bool) -> None:
    for name, far, unit in (("a", DAY, "ns"), ("b", FAR, "us")):
        type_ = pa.list_(pa.timestamp(unit)) if nested else pa.timestamp(unit)
        pq.write_table(pa.table({"t": [1], "x": pa.array([[far] if nested else far], type_)}),
                       tmp_path / f"{name}.parquet", write_statistics=False)
    with pytest.raises(SourceError, match=r"'x' of 'b.parquet' holds times beyond .*, which 'a.parquet' needs"):
        list(batches(ParquetSource(tmp_path, time="t"), ["x"]))


def test_text_keeps_its_dictionary_with_text_that_has_none(tmp_path: Path) -> None:
    for name, type_ in (("a", pa.large_string()), ("b", pa.string())):
        pq.write_table(pa.table({"t": range(1000), "k": pa.array(["long text"] * 1000, type_)}),
                       tmp_path / f"{name}.parquet")
    assert all(pa.types.is_dictionary(batch.column("k").values.type)
               for batch in batches(ParquetSource(tmp_path, time="t"), ["k"]))


def test_a_restart_in_the_second_file_gives_the_tail(tmp_path: Path) -> None:
    for name, type_, values in (("a", pa.int32(), range(5)), ("b", pa.int64(), range(5, 10))):
        pq.write_table(pa.table({"t": values, "x": pa.array(values, type_)}), tmp_path / f"{name}.parquet")
    source = ParquetSource(tmp_path, time="t")
    for offset in range(11):
        assert [x for *_, x in rows(source, ["x"], offset)] == list(range(offset, 10))

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from whimbrel.batch import COMPLEX64, Column, SegmentType


def segments(rows: list[dict[str, object] | None], samples: pa.DataType | None = None) -> pa.Array:
    type_ = SegmentType(samples or pa.int16(), Fraction(25_000, 9), "us")
    return type_.wrap_array(pa.array(rows, type_.storage_type))


ARRAYS = {
    "ints with nulls": pa.array([1, None, 3]),
    "bools": pa.array([True, None, False]),
    "strings": pa.array(["a", None, "b"]),
    "dictionary": pa.array(["a", None, "a"]).dictionary_encode(),
    "timestamps": pa.array([1, 2, None], pa.timestamp("ms", "UTC")),
    "floats": pa.array([1.5, None, float("nan")], pa.float32()),
    "dates": pa.array([1, None, 3], pa.date32()),
    "durations": pa.array([1, None, 3], pa.duration("s")),
    "lists": pa.array([[1], None, []]),
    "segments": segments([{"index": 0, "samples": [1, 2]}, None, {"index": 1, "samples": [2, None, 4]}]),
    "a slice of segments": segments([None, {"index": 0, "samples": []}, None, {"index": 4, "samples": [7]}])[1:],
    "segments of bools": segments([{"index": 0, "samples": [True]}, None, {"index": 9, "samples": [None]}], pa.bool_()),
    "segments of complex numbers": segments([{"index": 0, "samples": [[1, 2], None]}, None,
                                             {"index": 2, "samples": [[3, 4]]}], COMPLEX64),
    "a slice": pa.array([9, 1, None, 3])[1:],
    "a slice of bools": pa.array([True, True, None, False])[1:],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_what_comes_in_by_arrow_goes_out_the_same(name: str) -> None:
    array = ARRAYS[name]
    column = Column.from_arrow(array)
    back = column.to_arrow()
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    assert back.type == plain.type
    assert str(back.to_pylist()) == str(plain.to_pylist())  # as text: NaN is not equal to itself
    assert column.validity().tolist() == [value is not None for value in plain.to_pylist()]


@pytest.mark.parametrize("name", ARRAYS)
def test_a_column_without_rows_has_nulls_for_rows_that_are_not_there(name: str) -> None:
    empty = Column.from_arrow(ARRAYS[name]).slice(0, 0)
    assert empty.take_or_null(np.zeros(2, np.int64), np.zeros(2, np.bool_)).to_arrow().to_pylist() == [None, None]


@pytest.mark.parametrize("name", ARRAYS)
def test_slicing_taking_and_joining_move_the_right_rows(name: str) -> None:
    column = Column.from_arrow(ARRAYS[name])
    values = [str(value) for value in column.to_arrow().to_pylist()]
    taken = column.take(np.array([2, 0]))
    assert [str(value) for value in taken.to_arrow().to_pylist()] == [values[2], values[0]]
    joined = Column.concat([column.slice(1, 3), taken])
    assert [str(value) for value in joined.to_arrow().to_pylist()] == [values[1], values[2], values[2], values[0]]


def test_fixed_width_values_are_shared_with_arrow_and_read_only() -> None:
    array = pa.array(np.arange(1_000))
    values = Column.from_arrow(array).values
    assert values.__array_interface__["data"][0] == array.buffers()[1].address
    assert not values.flags.writeable
    out = Column.from_arrow(array).to_arrow()
    assert out.buffers()[1].address == array.buffers()[1].address


def test_what_lies_under_a_null_is_harmless() -> None:
    dirty = pa.Array.from_buffers(pa.int64(), 2, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([5, 2**62]).tobytes())])
    assert Column.from_arrow(dirty).values.tolist() == [5, 0]


def test_no_rows_have_no_nulls() -> None:
    """A column that begins with nothing would keep a mask for ever."""
    nothing = Column.nulls(pa.int64(), 0)
    assert Column.concat([nothing, Column.from_arrow(pa.array([1, 2]))]).valid is None


def test_nulls_of_no_type_one_after_the_other() -> None:
    nothing = Column.from_arrow(pa.nulls(2).dictionary_encode())
    assert Column.concat([nothing, nothing]).to_arrow().equals(pa.nulls(4))

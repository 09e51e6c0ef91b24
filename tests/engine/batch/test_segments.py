"""Segments against plain lists of (number, value)."""

from __future__ import annotations

import copy
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.batch import Column, SampleBlocks, Segments, SegmentType, segments_of_lists

TYPE = SegmentType(pa.int16(), Fraction(5))

Row = list[tuple[int, int | None]]


def plain(segments: Segments) -> list[Row]:
    """Numbers and values of the samples of each row; None where one is missing."""
    rows = []
    for row, (index, size) in enumerate(zip(segments.index.tolist(), segments.size.tolist(), strict=True)):
        values: Row = [(index + at, None) for at in range(size)]
        for first, samples in segments.pieces(row):
            values[first - index:first - index + len(samples)] = list(enumerate(samples.tolist(), first))
        rows.append(values)
    return rows


def through_arrow(segments: Segments) -> list[Row]:
    rows = Column(TYPE, segments).to_arrow().to_pylist()
    return [list(enumerate(row["samples"], row["index"])) for row in rows]


@st.composite
def signals(draw: st.DrawFn) -> tuple[list[int | None], SampleBlocks]:
    """A signal with missing samples, cut into blocks."""
    values = draw(st.lists(st.one_of(st.integers(-9, 9), st.none()), min_size=1, max_size=20))
    cuts = sorted({0, len(values), *draw(st.lists(st.integers(0, len(values)), max_size=4))})
    parts = [values[start:stop] for start, stop in pairwise(cuts)]
    segments = [segments_of_lists(TYPE, pa.array([part], pa.list_(pa.int16())), np.array([start]))
                for start, part in zip(cuts, parts, strict=False)]
    return values, Segments.concat(segments).blocks


@st.composite
def windows(draw: st.DrawFn) -> tuple[list[Row], Segments]:
    values, blocks = draw(signals())
    many = draw(st.lists(st.tuples(st.integers(0, len(values)), st.integers(0, 8)), max_size=6))
    many = [(start, min(size, len(values) - start)) for start, size in many]
    index, size = np.array(many, np.int64).reshape(-1, 2).T
    rows: list[Row] = [list(enumerate(values[start:start + length], start)) for start, length in many]
    return rows, Segments(TYPE, blocks, index.copy(), size.copy(), index.copy())


@given(windows(), windows(), st.data())
def test_rows_are_what_plain_lists_say(one: tuple[list[Row], Segments], other: tuple[list[Row], Segments],
                                       data: st.DataObject) -> None:
    rows, segments = one
    assert plain(segments) == rows
    assert through_arrow(segments) == rows
    assert segments.missing().tolist() == [sum(value is None for _, value in row) for row in rows]
    joined = Segments.concat([segments, other[1], segments])
    everything = rows + other[0] + rows
    assert plain(joined) == through_arrow(joined) == everything
    if everything:
        chosen = data.draw(st.lists(st.integers(0, len(everything) - 1), max_size=8))
        taken = joined.take(np.array(chosen, np.int64))
        assert plain(taken) == [everything[row] for row in chosen]
        blocks, position = joined.blocks.used(taken.position, taken.size)
        assert plain(Segments(TYPE, blocks, taken.index, taken.size, position)) == plain(taken)
        start, size = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))
        part = joined.part(np.full(len(joined), start), np.full(len(joined), size))
        assert plain(part) == [row[start:start + size] for row in everything]


@given(signals(), st.data())
def test_rows_that_continue_each_other_become_one(signal: tuple[list[int | None], SampleBlocks],
                                                  data: st.DataObject) -> None:
    values, blocks = signal
    cuts = sorted({0, *data.draw(st.lists(st.integers(0, len(values)), max_size=6)), len(values)})
    kept = [pair for pair in pairwise(cuts) if data.draw(st.booleans())]
    if not kept:
        return
    rows = [Segments(TYPE, blocks, np.array([start]), np.array([stop - start]), np.array([start]))
            for start, stop in kept]
    fused = Segments.concat(rows).fused(np.array([0]))
    there = {number for start, stop in kept for number in range(start, stop)}
    assert plain(fused) == [[(number, values[number] if number in there else None)
                             for number in range(kept[0][0], kept[-1][1])]]


def windows_of(samples: np.ndarray[Any, Any], size: int, hop: int) -> Segments:
    return Segments.over(TYPE, samples, 0, np.arange(0, len(samples) - size + 1, hop), size)


SAMPLES = np.arange(10_000, dtype=np.int16)


def test_overlapping_windows_share_their_samples() -> None:
    overlapping = windows_of(SAMPLES, 100, 10)
    assert np.shares_memory(overlapping.matrix(), SAMPLES)
    assert overlapping.matrix().tolist() == [SAMPLES[start:start + 100].tolist() for start in range(0, 9_901, 10)]
    taken = overlapping.take(np.array([5, 0, 7]))
    assert taken.matrix().tolist() == [SAMPLES[start:start + 100].tolist() for start in (50, 0, 70)]
    with pytest.raises(ValueError, match="read-only"):
        overlapping.matrix()[0, 0] = 1


def test_blocks_that_several_batches_share_are_there_once() -> None:
    whole = windows_of(SAMPLES, 100, 100)
    parts = [whole.slice(start, start + 10) for start in range(0, 100, 10)]
    assert Segments.concat(parts).blocks.nbytes == SAMPLES.nbytes
    assert np.shares_memory(Segments.concat(parts).fused(np.array([0])).samples(0), SAMPLES)


def test_appending_copies_no_sample() -> None:
    halves = np.arange(10, dtype=np.int16), np.arange(10, 20, dtype=np.int16)
    one, other = (Segments.over(TYPE, half, first, np.array([first]), 10) for half, first in zip(halves, (0, 10),
                                                                                              strict=True))
    both = one.append(other)
    assert both.samples(0).tolist() == list(range(20))
    assert all(np.shares_memory(piece, half) for (_, piece), half in zip(both.pieces(0), halves, strict=True))


def test_few_samples_do_not_keep_a_block() -> None:
    few = Column(TYPE, windows_of(SAMPLES, 10, 10).slice(3, 5)).to_arrow()
    assert few.storage.field("samples").values.get_total_buffer_size() <= 40
    many = Column(TYPE, windows_of(SAMPLES, 10, 10)).to_arrow()
    assert many.storage.field("samples").values.buffers()[1].address == SAMPLES.__array_interface__["data"][0]


def test_lists_come_in_without_a_copy() -> None:
    for lists in (pa.array([[1, 2], [3], [4, 5, 6]], pa.list_(pa.int16())),
                  pa.array([[1, 2], [3, 4]], pa.large_list(pa.int16())),
                  pa.array([[1, 2], [3, 4]], pa.list_(pa.int16(), 2))):
        segments = segments_of_lists(TYPE, lists, np.zeros(len(lists), np.int64))
        address = segments.blocks.arrays[0].__array_interface__["data"][0]
        assert address == lists.flatten().buffers()[1].address
        assert [segments.samples(row).tolist() for row in range(len(lists))] == lists.to_pylist()


def test_missing_samples_take_no_memory() -> None:
    far = Segments.concat([Segments.over(TYPE, SAMPLES, first, np.array([first]), 10) for first in (0, 10**9)])
    fused = far.fused(np.array([0]))
    assert fused.size.tolist() == [10**9 + 10]
    assert fused.missing().tolist() == [10**9 - 10]
    assert fused.blocks.nbytes == 40
    assert [(first, samples.tolist()) for first, samples in fused.pieces(0)] == [
        (0, list(range(10))), (10**9, list(range(10)))]


def test_the_type_survives_files_and_processes(tmp_path: Any) -> None:
    type_ = SegmentType(pa.float32(), Fraction(10**9, 44_100), "ns", "recorder", Fraction(1, 3))
    array = type_.wrap_array(pa.array([{"index": 3, "samples": [1.5, None]}], type_.storage_type))
    pq.write_table(pa.table({"x": array}), tmp_path / "x.parquet")
    back = pq.read_table(tmp_path / "x.parquet")["x"]
    assert back.type == type_ == copy.copy(type_)
    assert back.to_pylist() == [{"index": 3, "samples": [1.5, None]}]
    assert str(type_) == "segment<float, 44100 Hz>"
    assert type_ != SegmentType(pa.float32(), Fraction(10**9, 44_100), "ns")

"""Small streams for operators over two of them: plain tuples in, plain tuples out."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel.kernels import tier

Row = tuple[int, int | None, str | None, int]
"""(start, end, key, value); an end that is not known is None."""

NEVER = 10**9
"""Stands for an end that is not known, where ends are compared."""

ROWS = st.lists(
    st.tuples(st.integers(-5, 20), st.sampled_from([1, 1, 2, 5, 9, NEVER]), st.sampled_from(["a", "b", None]),
              st.integers(0, 3)), max_size=7,
).map(lambda rows: [(start, start + length if length != NEVER else None, key, value)
                    for start, length, key, value in rows])

thorough = settings(max_examples=80, deadline=None, derandomize=True, database=None)


def stream(rows: list[Row], *names: str) -> wb.Stream:
    """Columns `key` and the one named, read as history."""
    starts, ends, keys, values = ([row[column] for row in rows] for column in range(4))
    table = pa.table({"at": pa.array(starts, pa.int64()), "until": pa.array(ends, pa.int64()),
                      "key": pa.array(keys, pa.string()), names[0]: pa.array(values, pa.int64())})
    # Nothing is promised about the order of these rows, so each of them gets the same arrival.
    table = table.append_column("arrived", pa.array([0] * len(rows), pa.int64()))
    return wb.from_arrow(table, time="at", end="until", arrival="arrived").select("key", names[0])


def answer(query: wb.Stream) -> list[tuple[object, ...]]:
    """The rows of the answer, sorted; nulls last."""
    with tier("interpreted"):
        rows = [tuple(row.values()) for row in query.collect().to_pylist()]
    return in_order(rows)


def in_order(rows: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return sorted(rows, key=lambda row: [(value is None, value) for value in row])


def known(end: int | None) -> int:
    return NEVER if end is None else end


def shown(end: int) -> int | None:
    return None if end == NEVER else end

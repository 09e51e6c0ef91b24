"""The law of blocks: samples may be cut into blocks anywhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, frozen
from whimbrel.clock import Rate
from whimbrel.plan import Node, OrderingSpec, Source
from whimbrel.stream import Stream

_NS = 10**9


class CutSamples(Source):
    """Samples in blocks that end where a test wants."""

    name, time = "samples", "time"

    def __init__(self, schema: Schema, times: np.ndarray[Any, Any], columns: Sequence[Column],
                 cuts: Sequence[int]) -> None:
        self.schema, self.times, self.columns, self.block_ends = schema, times, tuple(columns), cuts
        self.disorder = OrderingSpec(0, "raise")
        self.rows = len(times)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        whole = Batch(self.schema, frozen(self.times), 1, self.columns)
        for start, stop in pairwise([0, *self.block_ends, len(self.times)]):
            yield whole.slice(max(start, offset), max(stop, offset)).select(columns)


def check_blocks(query: Callable[[Stream], Stream], channels: Mapping[str, Any], *, rate: Rate | None = None,
                 missing: Collection[int] = (), cuts: int = 8, seed: int = 0) -> None:
    """Assert that a query gives the same bits, however samples are cut into blocks.

    Use it for your own functions, such as those of :func:`whimbrel.array_function`.

    Parameters
    ----------
    query : callable
        From a stream of samples to the result.
    channels : mapping of str to array
        Samples, by column.
    rate : int, float, str or Fraction, optional
        Samples per second; times are in nanoseconds then. Without it, a sample is there every tick.
    missing : collection of int
        Numbers of samples that are left out.
    cuts : int
        In how many ways the samples are cut.
    seed : int
        Chooses where.

    Raises
    ------
    AssertionError
        With the first row that differs, and where the samples were cut.

    Examples
    --------
    >>> import numpy as np
    >>> import whimbrel as wb
    >>> from whimbrel import col
    >>> from whimbrel.testing import check_blocks
    >>> loudest = wb.array_function(lambda x: np.abs(x).max(axis=1), returns="int64")
    >>> check_blocks(lambda s: s.rewindow(4).select(top=loudest(col.x)), {"x": np.arange(-20, 20)})
    >>> relative = wb.array_function(lambda x: x.max(axis=1) / x.max(), returns="float64")
    >>> check_blocks(lambda s: s.rewindow(4).select(t=relative(col.x)), {"x": np.arange(1, 20)})
    Traceback (most recent call last):
    AssertionError: cut at [8, 15, 16]: row 0 is {'start': 0, 'end': 4, 't': 0.5}, not {'start': 0, 'end': 4, 't': 0.25}
    """
    arrays = {name: pa.array(values) for name, values in channels.items()}
    count = min(map(len, arrays.values()))
    there = np.array([number for number in range(count) if number not in missing], np.int64)
    schema = Schema(tuple(Field(name, array.type) for name, array in arrays.items()), None if rate is None else "ns")
    columns = [Column.from_arrow(array.take(pa.array(there))) for array in arrays.values()]
    times = there if rate is None else np.round(there * (_NS / float(rate))).astype(np.int64)
    chance = random.Random(seed)  # noqa: S311 - chooses test data

    def answer(at: Sequence[int]) -> list[dict[str, Any]]:
        stream = Stream(Node(CutSamples(schema, times, columns, at)))
        known: dict[str, Any] = {"periodic": 1} if rate is None else {"rate": rate}
        rows: list[dict[str, Any]] = query(stream.assume(**known, gaps=bool(missing))).collect().to_pylist()
        return rows

    whole = answer([])
    ways = [sorted(chance.choices(range(len(there) + 1), k=min(3 + way, len(there)))) for way in range(cuts - 1)]
    for at in [*ways, list(range(1, len(there), max(1, len(there) // 256)))]:
        rows = answer(at)
        for number, (row, expected) in enumerate(zip(rows, whole, strict=False)):
            if repr(row) != repr(expected):
                raise AssertionError(f"cut at {at}: row {number} is {row}, not {expected}")
        if len(rows) != len(whole):
            raise AssertionError(f"cut at {at}: {len(rows)} rows, not {len(whole)}")

"""The law of blocks: samples may be cut into blocks anywhere."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, frozen, sample_type
from whimbrel.clock import Rate
from whimbrel.plan import Node, OrderingSpec, Source
from whimbrel.run.checkpoint import load, save
from whimbrel.run.execution import Execution
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
                 missing: Collection[int] = (), keys: Sequence[str] = (), jitter_ns: int = 0, cuts: int = 8,
                 seed: int = 0) -> None:
    """Assert that a query gives the same bits, however samples are cut into blocks.

    A run that resumes from a checkpoint between two blocks must give the same bits, too.

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
    keys : sequence of str
        There is a signal for each, with the value in a column ``key``. The samples of each begin three later than those
        of the key before it.
    jitter_ns : int
        Most time between a sample and its row, with a rate.
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
    chance = random.Random(seed)  # noqa: S311 - chooses test data
    noise = np.random.default_rng(seed)
    signal = _Signal.of(channels, rate, missing, keys, jitter_ns, noise)
    rows = len(signal.times)

    def plan(at: Sequence[int]) -> Node:
        source = CutSamples(signal.schema, signal.times, signal.columns, at)
        known: dict[str, Any] = {"periodic": 1} if rate is None else {"rate": rate, "jitter": max(1, jitter_ns)}
        return query(Stream(Node(source)).assume(**known, phase=0, gaps=bool(missing) or bool(keys),
                                                 per=["key"] if keys else [])).node

    whole = Stream(plan([])).collect().to_pylist()
    ways = [sorted(chance.choices(range(rows + 1), k=min(3 + way, rows))) for way in range(cuts - 1)]
    for at in [*ways, list(range(1, rows, max(1, rows // 256)))]:
        _compare(Stream(plan(at)).collect().to_pylist(), whole, f"cut at {at}")
    for at in ways[:2]:
        steps = chance.randrange(len(at) + 2)
        _compare(_resumed(plan(at), plan(at), steps), whole, f"cut at {at}, and restored after {steps} blocks")


@dataclass(frozen=True)
class _Signal:
    """Rows of samples, in the order of their times."""

    schema: Schema
    times: np.ndarray[Any, Any]
    columns: list[Column]

    @staticmethod
    def of(channels: Mapping[str, Any], rate: Rate | None, missing: Collection[int], keys: Sequence[str],
           jitter_ns: int, chance: np.random.Generator) -> _Signal:
        arrays = {name: _array(values) for name, values in channels.items()}
        count = min(map(len, arrays.values()))
        there = np.array([number for number in range(count) if number not in missing], np.int64)
        numbers = np.concatenate([there + 3 * key for key in range(max(1, len(keys)))])
        period = 1 if rate is None else _NS / float(Fraction(str(rate)))
        times = np.round(numbers * period).astype(np.int64) + chance.integers(-jitter_ns, jitter_ns + 1, len(numbers))
        order = np.argsort(times, kind="stable")
        taken = pa.array(np.tile(there, max(1, len(keys)))[order])
        values = {name: array.take(taken) for name, array in arrays.items()}
        if keys:
            values["key"] = pa.array(np.repeat(np.array(keys, object), len(there))[order], pa.string())
        fields = tuple(Field(name, array.type) for name, array in values.items())
        schema = Schema(fields, None if rate is None else "ns")
        return _Signal(schema, times[order], [Column.from_arrow(array) for array in values.values()])


def _resumed(plan: Node, again: Node, steps: int) -> list[dict[str, Any]]:
    """The rows of a run up to a checkpoint, and of another one that resumes from it."""
    with TemporaryDirectory() as folder:
        with closing(Execution(plan)) as session:
            for _ in range(steps):
                if not session.finished:
                    session.step()
            save(session, f"{folder}/run")
            before = session.answers[0].settled()
        with closing(Execution(again)) as session:
            load(session, f"{folder}/run")
            while not session.finished:
                session.step()
            rows: list[dict[str, Any]] = [*before.to_pylist(), *session.answers[0].settled().to_pylist()]
    return rows


def _compare(rows: list[dict[str, Any]], whole: list[dict[str, Any]], how: str) -> None:
    """Raise an error at the first row that differs; rows of one time may come in any order."""
    rows, whole = (sorted(each, key=lambda row: (row["start"], repr(row))) for each in (rows, whole))
    for number, (row, expected) in enumerate(zip(rows, whole, strict=False)):
        if repr(row) != repr(expected):
            raise AssertionError(f"{how}: row {number} is {row}, not {expected}")
    if len(rows) != len(whole):
        raise AssertionError(f"{how}: {len(rows)} rows, not {len(whole)}")


def _array(values: Any) -> pa.Array:
    """A channel in Arrow; complex samples are pairs of floats."""
    is_complex = isinstance(values, np.ndarray) and values.dtype.kind == "c"
    return Column.of_samples(sample_type(values.dtype), values).to_arrow() if is_complex else pa.array(values)

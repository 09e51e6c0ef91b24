"""Synthetic feed with disorder, bursts and gaps, for tests and examples."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from time import monotonic
from typing import Unpack

import numpy as np
import pyarrow as pa

from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.validation import is_seconds, is_whole
from whimbrel.errors import PlanError

_CHUNK_ROWS = 1024
_START_US = 1_704_067_200_000_000  # 2024-01-01
_FIELDS = pa.schema([("at", pa.timestamp("us")), ("key", pa.string()), ("number", pa.int64()), ("value", pa.float64())])


@dataclass(frozen=True)
class Spell:
    """A recurring phase: `length_s` out of every `every_s` seconds."""

    every_s: float
    length_s: float


class SyntheticFeed(Feed):
    """Feed of random rows, for tests and examples.

    Columns: at, key, number (from 0) and value. The same seed gives the same rows.

    Parameters
    ----------
    rate : float
        Rows per second of event time.
    rows : int, optional
        Number of rows. Default: unbounded.
    speed : float
        Seconds of event time per second; ``float("inf")``: as fast as possible.
    keys : int
        Number of distinct keys.
    disorder : float
        Fraction of rows that are out of order.
    late_by : float
        Maximum lateness of these rows, in seconds.
    bursts : (float, float), optional
        Period and length in seconds of bursts with ten times the rate.
    gaps : (float, float), optional
        Period and length in seconds of gaps without rows.
    seed : int
    **feed_options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> feed = wb.feeds.synthetic(rate=100, rows=1000, speed=float("inf"), disorder=0.1, reorder_latency="1s")
    >>> feed.tumbling_window("5s").aggregate(n=wb.count()).collect()["n"].to_pylist()
    [504, 496]
    """

    def __init__(self, rate: float = 1000.0, *, rows: int | None = None, speed: float = 1.0, keys: int = 10,
                 disorder: float = 0.0, late_by: float = 1.0, bursts: tuple[float, float] | None = None,
                 gaps: tuple[float, float] | None = None, seed: int = 0, **options: Unpack[FeedOptions]) -> None:
        for name, value, fine, rule, example in (
                ("rate", rate, is_seconds(rate), "a positive number of rows per second", 100),
                ("speed", speed, speed == float("inf") or is_seconds(speed), "a positive number", 1.0),
                ("keys", keys, is_whole(keys) and keys > 0, "an integer of at least 1", 10),
                ("disorder", disorder, disorder == 0 or (is_seconds(disorder) and disorder <= 1),
                 "a number between 0 and 1", 0.1),
                ("late_by", late_by, late_by == 0 or is_seconds(late_by), "a number of seconds of at least 0", 1.0),
                ("rows", rows, rows is None or (is_whole(rows) and rows >= 0), "an integer of at least 0", 1000),
                ("seed", seed, is_whole(seed) and seed >= 0, "an integer of at least 0", 0),
                ("bursts", bursts, _is_spell(bursts), "a period and a shorter length in seconds", (60, 5)),
                ("gaps", gaps, _is_spell(gaps), "a period and a shorter length in seconds", (60, 5))):
            if not fine:
                raise PlanError(f"{name} must be {rule}, got {value!r}.", where="feeds.synthetic(...)",
                                hint=f"Use for example {name}={example}.")
        self.rate, self.speed, self.keys, self.seed, self.max_rows = rate, speed, keys, seed, rows
        self.disorder_fraction, self.late_by_s = disorder, late_by
        self.bursts, self.gaps = (None if spell is None else Spell(*spell) for spell in (bursts, gaps))
        super().__init__("synthetic", time="at", schema=_FIELDS, format=None, **options)

    def connect(self, offset: Offset) -> Client:
        return _Maker(self, int(offset or 0))

    def chunk(self, number: int) -> pa.RecordBatch:
        """Rows of a chunk, in order of arrival."""
        chance = np.random.default_rng([self.seed, number])
        row = np.arange(number * _CHUNK_ROWS, (number + 1) * _CHUNK_ROWS)
        at_s = self.second(row)
        is_late = chance.random(_CHUNK_ROWS) < self.disorder_fraction
        late_s = np.where(is_late, chance.random(_CHUNK_ROWS) * self.late_by_s, 0.0)
        time = pa.array(_START_US + np.floor(np.maximum(at_s - late_s, 0.0) * 1e6).astype(np.int64))
        key = pa.DictionaryArray.from_arrays(chance.integers(0, self.keys, _CHUNK_ROWS).astype(np.int32),
                                             [f"k{each}" for each in range(self.keys)]).cast(pa.string())
        columns = [time.cast(pa.timestamp("us")), key, pa.array(row), pa.array(chance.normal(size=_CHUNK_ROWS))]
        return pa.RecordBatch.from_arrays(columns, schema=_FIELDS)

    def second(self, row: np.ndarray) -> np.ndarray:
        """Arrival of rows, in seconds of event time."""
        second = row / self.rate
        if self.bursts is not None:  # within a period: first the burst, ten times as dense
            every, length = self.bursts.every_s, self.bursts.length_s
            rows_of_period = self.rate * (every + 9 * length)
            period, rest = np.divmod(row, rows_of_period)
            burst = self.rate * 10 * length
            usual = length + (rest - burst) / self.rate
            second = period * every + np.where(rest < burst, rest / (10 * self.rate), usual)
        if self.gaps is not None:
            between = self.gaps.every_s - self.gaps.length_s
            second += np.floor(second / between) * self.gaps.length_s
        return second


def _is_spell(value: object) -> bool:
    return value is None or (isinstance(value, tuple | list) and len(value) == 2 and all(map(is_seconds, value))
                            and value[1] < value[0])


class _Maker(Client):
    """A client that returns rows when they are due."""

    def __init__(self, feed: SyntheticFeed, row: int) -> None:
        self._feed, self._row = feed, row
        self._began = monotonic()
        self._first_s = float(feed.second(np.array([row]))[0])
        self._closed = threading.Event()
        self._chunk: tuple[int, pa.RecordBatch] | None = None

    def receive(self, timeout_s: float) -> MessageBatch | None:
        feed = self._feed
        if feed.max_rows is not None and self._row >= feed.max_rows:
            raise EOFError
        number, start = divmod(self._row, _CHUNK_ROWS)
        stop = _CHUNK_ROWS if feed.max_rows is None else min(_CHUNK_ROWS, feed.max_rows - number * _CHUNK_ROWS)
        if feed.speed != float("inf"):
            come = self._first_s + (monotonic() - self._began) * feed.speed
            due = feed.second(np.arange(self._row, number * _CHUNK_ROWS + stop))
            stop = start + int(np.searchsorted(due, come, "right"))
            if stop == start:
                self._closed.wait(min(timeout_s, max((float(due[0]) - come) / feed.speed, 0.0)))
                return None
        if self._chunk is None or self._chunk[0] != number:
            self._chunk = number, feed.chunk(number)
        self._row += stop - start
        return MessageBatch(self._chunk[1].slice(start, stop - start), self._row)

    def close(self) -> None:
        self._closed.set()

"""Samples that wait: what appending costs, what they take, and a load three times as high as can be taken."""

from __future__ import annotations

import gc
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import psutil

import whimbrel as wb
from bench.compare import Row, compare
from bench.figure import Figure
from bench.kept_memory import give_back_memory
from bench.sides import Ours
from bench.signal_detections import NAMES, calls_in
from bench.signal_sides import RATE, Array, blocks_of, signal
from whimbrel import Stream, col
from whimbrel.batch import Column
from whimbrel.clock import Timebase
from whimbrel.connect.signals.sample_ranges import SampleRanges
from whimbrel.connect.signals.sample_source import ReadSamples, SampleSource
from whimbrel.plan import Node

BLOCK = 16_384
MANY, FEW = 450_000, 50_000
"""Bytes that a sync holds."""
OVERLOAD, BLOCKS = 3, 1_000
_SHORTEST_SLEEP_S = 1e-3
"""A sleep takes some tenths of a millisecond longer than it was asked for, and a block is taken in less."""


class MadeSamples(SampleSource):
    """Samples that a function makes when they are read."""

    def __init__(self, names: tuple[str, ...], samples: int, make: Callable[[int, int], Array]) -> None:
        like = signal(**{name: np.zeros(1, np.int16) for name in names}).schema
        timebase = Timebase(Fraction(10**9, RATE), Fraction(0), "")
        super().__init__("made", like, timebase, SampleRanges.of([(0, samples)]))
        self.make = make

    @contextmanager
    def opened(self, columns: tuple[str, ...]) -> Generator[ReadSamples]:
        def read(first: int, count: int) -> tuple[Column, ...]:
            made = self.make(first, count)
            return tuple(Column(self.schema.type_of(name), made) for name in columns)

        yield read


def memory_of_samples(samples: int) -> Iterator[Row | Figure]:
    """All rows of this file."""
    yield from appending(samples)
    yield from held(samples)
    yield from overload()


def appending(samples: int) -> Iterator[Row]:
    """A sync that holds many samples against one that holds few, and against copies of what is held."""
    sound = (np.random.default_rng(3).normal(size=samples) * 300).astype(np.int16)

    def side(held_bytes: int) -> Ours[Stream]:
        def build() -> Stream:
            return epochs(signal(x=sound), samples, held_bytes)

        def run(query: Stream) -> int:
            with blocks_of(BLOCK):
                return query.collect().num_rows

        return Ours(build, run)

    def copying(held_bytes: int) -> Callable[[], int]:
        def run() -> int:
            kept = np.empty(0, np.int16)
            for first in range(0, samples, BLOCK):
                kept = np.concatenate([kept[-held_bytes // 2:], sound[first:first + BLOCK]])
            return samples // RATE
        return run

    yield from compare("F append", f"450 kB held, blocks of {BLOCK:,}", samples, side(MANY),
                       {"50 kB held": side(FEW)}, lambda ours, theirs: abs(ours - theirs) <= 1)
    yield from compare("F append", f"copies of 450 kB, blocks of {BLOCK:,}", samples, copying(MANY),
                       {"copies of 50 kB": copying(FEW)}, lambda ours, theirs: ours == theirs)


def epochs(sound: Stream, samples: int, held_bytes: int) -> Stream:
    """The level of a short range at each second; the sync may be asked for so many bytes of samples."""
    before = held_bytes // 2 * 10**9 // RATE
    at = np.arange(samples // RATE, dtype=np.int64) * 10**9 + before
    ticks = wb.from_arrow({"at": at.astype("datetime64[ns]"), "n": np.arange(len(at))}, time="at", name="ticks")
    return ticks.sync(sound, before=before, after=0).select(n=col.n, last=col.x.seg.at(0))


def held(samples: int) -> Iterator[Figure]:
    """Memory of samples that a sync holds, against their bytes."""
    grown: list[int] = []
    process = psutil.Process()

    def make(first: int, count: int) -> Array:
        if not grown:
            give_back_memory()
            gc.collect()
            grown.append(process.memory_info().rss)
        made = np.full(count, 7, np.int16)
        if first + count == samples:
            grown.append(process.memory_info().rss)
        return made

    source = Stream(Node(MadeSamples(("x",), samples, make)))
    assert epochs(source, samples, 2 * samples).collect().num_rows > 0
    yield Figure("F held", f"memory of {2 * samples / 1e6:.0f} MB of samples", "of theirs",
                 (grown[1] - grown[0]) / (2 * samples), "at most 1.05")


class Offered:
    """Blocks that a thread offers at a rate; it waits while the queue is full."""

    def __init__(self, blocks: int, per_s: float | None) -> None:
        self.queue: queue.Queue[Array] = queue.Queue(maxsize=8)
        self.blocks, self.per_s = blocks, per_s
        self.block = (np.random.default_rng(4).normal(size=BLOCK) * 20).astype(np.int16)
        self.thread = threading.Thread(target=self._offer, daemon=True)
        self.thread.start()

    def _offer(self) -> None:
        began = time.perf_counter()
        for number in range(self.blocks):
            early = 0.0 if self.per_s is None else began + number / self.per_s - time.perf_counter()
            if early > _SHORTEST_SLEEP_S:
                time.sleep(early)
            self.queue.put(self.block.copy())

    def stream(self) -> Stream:
        return Stream(Node(MadeSamples(NAMES, self.blocks * BLOCK, lambda *_: self.queue.get())))


def overload() -> Iterator[Figure]:
    """Three times the load that can be taken, against the most that can be; memory stays as it is."""
    def rate(blocks: int, per_s: float | None) -> tuple[float, float]:
        process, before = psutil.Process(), psutil.Process().memory_info().rss
        offered = Offered(blocks, per_s)
        with blocks_of(BLOCK):
            began = time.perf_counter()
            calls_in(offered.stream()).collect()
            took = time.perf_counter() - began
        return blocks / took, (process.memory_info().rss - before) / 1e6

    peak = max(rate(BLOCKS, None)[0] for _ in range(4))
    found = [rate(BLOCKS, OVERLOAD * peak) for _ in range(4)]
    taken = max(of_all for of_all, _ in found)
    yield Figure("F overload", f"{OVERLOAD} times the load: taken, of the most", "", taken / peak, "at least 0.95")
    yield Figure("F overload", "memory grows by at most", "MB", max(grown for _, grown in found),
                 f"{BLOCKS * BLOCK * 2 / 1e6:,.0f} MB offered each time")

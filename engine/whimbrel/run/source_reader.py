"""Read sources in turn, with steps of bounded duration."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from whimbrel.batch import Batch
from whimbrel.clock import INF, MIN_TIME, as_ticks, finest
from whimbrel.connect import ReplayReader, follow
from whimbrel.connect.feeds.runtime.feed_reader import FeedReader
from whimbrel.connect.feeds.runtime.feed_status import FeedStatus
from whimbrel.connect.replay.clock_protocol import NEVER
from whimbrel.connect.replay.clock_subscriber import Follower
from whimbrel.connect.tables.columnar_source import BATCH_ROWS
from whimbrel.operators.windows.adaptive_window import WideningKernel
from whimbrel.plan import FilteredSource, OverloadSignal, Source, SourceOffset, UnsortedSource, WithOrdering
from whimbrel.run.joined_batches import joined_batches
from whimbrel.run.pipeline import Pipeline
from whimbrel.run.statistics_watermark import statistics_watermark

_SLICE_S = 0.02
_WAIT_S, _PAUSE_S = 0.05, 0.002
_FEWEST_ROWS = 256
CONNECT_TIMEOUT_S = 30.0
"""How long a run waits for a server that was never there, where nobody sees the state of its feeds."""


class SourceReader:
    """Drives a pipeline from its sources, one small step at a time.

    The source with the oldest event time is read next, so that a join buffers as little as possible. Replays are read
    in the order of arrival. Steps grow until one takes about 20 ms, so that interpreted first batches and compiled
    later ones both leave time for other work.

    Parameters
    ----------
    pipeline : Pipeline
    hurry : bool
        Take batches whole from the start, and join small ones, when nobody looks before the end.
    offsets : mapping of int to JSON value, optional
        As of :meth:`resume`, for a pipeline that has seen rows.

    Attributes
    ----------
    connect_timeout_s : float or None
        How long it waits for a server that was never there. None: forever.
    rows : int
        How many were read.
    arrival_ns : int
        The nanosecond of the last arrival of a replay that was read.
    follower : Follower or None
        How far the replays have come on their clock, where there are any.
    """

    def __init__(self, pipeline: Pipeline, *, hurry: bool = False, offsets: Mapping[int, Any] | None = None) -> None:
        self.pipeline = pipeline
        pipeline.in_portions = True
        self._step_rows = sys.maxsize if hurry else _FEWEST_ROWS
        self._hurry = hurry
        self._connect_timeout_s = CONNECT_TIMEOUT_S if hurry else None
        self._rest: dict[int, Batch] = {}
        self._streams: dict[int, Iterator[Batch | None]] = {}
        self.follower: Follower | None = None
        self._bell = threading.Event()
        self._quiet = False
        self._offsets: dict[int, Any] = {}
        self._states: dict[int, FeedStatus] = {}
        self._malformed: dict[int, dict[str, int]] = {}
        self._reached: dict[int, int] = {}
        self._reliefs: dict[OverloadSignal, OverloadSignal] = {}
        self._bounds = [statistics_watermark(source) for source in pipeline.sources]
        self._unit = finest(source.schema.unit for source in pipeline.sources)
        self.resume(offsets=offsets)

    def resume(self, arrival_ns: int | None = None, offsets: Mapping[int, Any] | None = None) -> None:
        """Start each source after the rows that its pipeline has seen.

        Parameters
        ----------
        arrival_ns : int, optional
            When the last row came, if that is known.
        offsets : mapping of int to JSON value, optional
            By source: the offset of each feed after those rows.
        """
        self._close_streams()
        self._rest.clear()
        self._offsets = dict(offsets or {})
        self.rows = sum(ingress.rows for ingress in self.pipeline.ingresses)
        self._streams = {number: source.read(source.schema.names, SourceOffset(ingress.rows, self._offsets[number])
                                             if number in self._offsets else ingress.rows)
                         for number, (source, ingress) in enumerate(zip(self.pipeline.sources, self.pipeline.ingresses,
                                                                        strict=True)) if ingress.watermark != INF}
        if self._hurry:
            self._streams = {number: joined_batches(stream, long=self.pipeline.takes_long_batches(number))
                             if isinstance(stream, Generator) else stream for number, stream in self._streams.items()}
        for reading in self._readings.values():
            reading.bell = self._bell
            reading.connect_timeout_s = self._connect_timeout_s
            if reading.relief is not None:
                reading.relief = self._own(reading.relief)
        self._follow()
        self.arrival_ns = self._latest() if arrival_ns is None else arrival_ns

    @property
    def connect_timeout_s(self) -> float | None:
        return self._connect_timeout_s

    @connect_timeout_s.setter
    def connect_timeout_s(self, seconds: float | None) -> None:
        self._connect_timeout_s = seconds
        for reading in self._readings.values():
            reading.connect_timeout_s = seconds

    def _own(self, relief: OverloadSignal) -> OverloadSignal:
        """One of this run alone in the place of a feed's, which other runs may read, too."""
        if relief not in self._reliefs:
            self._reliefs[relief] = OverloadSignal(relief.hop)
            for kernel in self.pipeline.kernels:
                if isinstance(kernel, WideningKernel) and kernel.relief is relief:
                    kernel.relief = self._reliefs[relief]
        return self._reliefs[relief]

    def _latest(self) -> int:
        """When rows that were read came at the latest: the next one came no sooner."""
        read = [stream for number, stream in self._streams.items()
                if isinstance(stream, ReplayReader) and self.pipeline.ingresses[number].rows]
        for stream in read:
            while stream.due is None:
                stream.peek()
        return max((stream.due for stream in read if stream.due is not None), default=-NEVER)

    def _follow(self) -> None:
        replays = [stream for stream in self._streams.values() if isinstance(stream, ReplayReader)]
        if replays or self.follower is not None:
            self.follower = follow(replays, self.follower)

    @property
    def finished(self) -> bool:
        return not self._streams and not self.pipeline.pending

    @property
    def rewindable(self) -> bool:
        """Whether it can rewind: replays can be read again, feeds cannot."""
        return self.follower is not None and not self._readings

    @property
    def _readings(self) -> dict[int, FeedReader]:
        """The feeds that are being read."""
        return {number: stream for number, stream in self._streams.items() if isinstance(stream, FeedReader)}

    @property
    def offsets(self) -> dict[int, Any]:
        """By source: the offset of each feed after the rows that were processed, once those are complete."""
        return self._offsets | {number: reading.offset for number, reading in self._readings.items()}

    def save_offsets(self) -> None:
        """From now on it will be said which rows are safe."""
        for reading in self._readings.values():
            reading.saves_offset = True

    def acknowledge(self, offsets: Mapping[int, Any], for_good: Mapping[int, Any]) -> None:
        """Rows up to these offsets are durable; those up to `for_good` are never read again."""
        for number, reading in self._readings.items():
            offset = (for_good if reading.forgets else offsets).get(number)
            if offset is not None:
                reading.acknowledge(offset)

    def feeds(self, sources: Collection[int]) -> dict[str, FeedStatus]:
        """What the feeds among these sources say about themselves, by name; others of one name are numbered."""
        for number, reading in self._readings.items():
            reading.unworked = len(self._rest.get(number, ()))
            self._states[number] = reading.state
        return {name: self._states[number] for number, name in self._named(self._states.keys() & sources)}

    def dead_letters(self, sources: Collection[int]) -> dict[str, dict[str, int]]:
        """Dead letters of feeds and files among these sources, by name and reason."""
        self.feeds(())
        for number in self._streams.keys() & sources:
            if number not in self._states and (malformed := _malformed(self.pipeline.sources[number])):
                self._malformed[number] = malformed
        counts = self._malformed | {number: dict(state.dead_letters) for number, state in self._states.items()
                                    if state.dead_letters}
        return {name: counts[number] for number, name in self._named(counts.keys() & sources)}

    def _named(self, numbers: Collection[int]) -> list[tuple[int, str]]:
        """Sources and their names; others of one name are numbered."""
        same = Counter[str]()
        found = []
        for number in sorted(numbers):
            name = self.pipeline.sources[number].name
            same[name] += 1
            found.append((number, name if same[name] == 1 else f"{name} ({same[name]})"))
        return found

    @property
    def open(self) -> AbstractSet[int]:
        """The numbers of the sources that have not ended."""
        return self._streams.keys()

    def keep(self, sources: AbstractSet[int]) -> None:
        """Read these only from now on."""
        for number in self.open - sources:
            _close(self._streams.pop(number))
            self._rest.pop(number, None)
        self._follow()

    @property
    def read(self) -> dict[Source, tuple[Source, int]]:
        """For each source as it was written in a plan: as it is read, and how many rows of it were."""
        found: dict[Source, tuple[Source, int]] = {}
        for source, ingress in zip(self.pipeline.sources, self.pipeline.ingresses, strict=True):
            log = source
            while isinstance(log, FilteredSource | WithOrdering | UnsortedSource):
                log = log.source
            written: Source | None = log
            while written is not None:
                found[written] = (log, ingress.rows)
                written = getattr(written, "source", None)
        return found

    @property
    def total_rows(self) -> int | None:
        """Rows of all sources together, or None if one of them does not know."""
        counts = [source.rows for source in self.pipeline.sources]
        return None if None in counts else sum(count for count in counts if count is not None)

    def step(self) -> list[list[Batch]] | None:
        """Read and process a little; each plan's settled result rows, or None when no source had anything.

        The first None comes soon, so that the caller can publish its progress; later calls wait for feeds.
        Nothing is read while kernels have portions of rows to give.
        """
        if self.pipeline.pending:
            return self.pipeline.next_portion()
        for number in self._order():
            stream = self._streams[number]
            spans = isinstance(stream, ReplayReader) and stream.whole
            if number not in self._rest:
                try:
                    batch = next(stream)
                except StopIteration:
                    self.dead_letters(self._streams.keys())
                    self._offsets = self.offsets
                    _close(self._streams.pop(number))
                    return self.pipeline.finish(number)
                if batch is None and spans:
                    return None  # what others have comes after it, or runs would differ
                if batch is None and isinstance(stream, FeedReader) and (out := self._pass(number, stream)) is not None:
                    return out
                if batch is None:
                    continue
                if isinstance(stream, ReplayReader):
                    self.arrival_ns = max(self.arrival_ns, stream.last_arrival)
                self._rest[number] = batch
            return self._process(number, whole=spans)
        if self._streams and len(self._readings) == len(self._streams):  # others wait by themselves
            self._quiet = not self._bell.wait(_WAIT_S if self._quiet else _PAUSE_S)
            self._bell.clear()
        return None

    def ring(self) -> None:
        """Wait no longer for feeds: there is something else to do. Any thread may say so."""
        self._bell.set()

    def _pass(self, number: int, reading: FeedReader) -> list[list[Batch]] | None:
        """Advance the watermark of an idle feed, or of idle partitions; None without a new one."""
        ingress, idle_ticks = self.pipeline.ingresses[number], reading.idle_ticks
        if ingress.source.edges:
            return None
        reached = reading.slowest
        if idle_ticks is not None:
            reached = ingress.newest + idle_ticks if ingress.rows else MIN_TIME
            if not reading.state.rows:  # how far time has advanced since its last row is unknown
                reached = max(reached, self._met(number))
        if reached is None:
            return None
        self._reached[number] = max(reached, self._reached.get(number, MIN_TIME))
        return self.pipeline.advance_idle(number, reached)

    def _met(self, number: int) -> int:
        """How far the sources have come whose rows those of this one meet."""
        entries, unit = self.pipeline.entries, self.pipeline.sources[number].schema.unit
        met = [(ingress.source.schema.unit, (self._reached.get(other, MIN_TIME), ingress.newest, ingress.watermark))
               for other, (entry, ingress) in enumerate(zip(entries, self.pipeline.ingresses, strict=True))
               if any({entry, entries[number]} <= nodes for nodes in self.pipeline.needs)]
        return max(as_ticks(time, other, unit) for other, times in met for time in times if time != INF)

    def _order(self) -> list[int]:
        """Sources in the order of reading; of replays only the one with the next row."""
        if len(self._streams) == 1 and not isinstance(next(iter(self._streams.values())), ReplayReader):
            return list(self._streams)
        replays = {number: stream for number, stream in self._streams.items() if isinstance(stream, ReplayReader)}
        for stream in replays.values():
            stream.peek()
        first = min(replays, key=lambda number: (number not in self._rest, replays[number].following), default=None)
        later = replays.keys() - {first}
        return sorted(self._streams.keys() - later, key=lambda source: (self._newest(source), source))

    def _newest(self, number: int) -> int:
        """The newest time of a source, counted as all of them can be."""
        return as_ticks(self.pipeline.ingresses[number].newest, self.pipeline.sources[number].schema.unit, self._unit)

    def _process(self, number: int, *, whole: bool) -> list[list[Batch]]:
        batch = self._rest.pop(number)
        if len(batch) > self._step_rows and not whole:
            self._rest[number] = batch.slice(self._step_rows, len(batch))
            batch = batch.slice(0, self._step_rows)
        began = time.perf_counter()
        out = self.pipeline.push(number, batch)
        self.rows += len(batch)
        self._look_ahead(number, out)
        if not self._hurry:
            self._adapt(time.perf_counter() - began)
        return out

    def _look_ahead(self, number: int, out: list[list[Batch]]) -> None:
        """Advance the watermark to the earliest row that may follow, and add the rows that this settles."""
        bounds = self._bounds[number]
        if bounds is None:
            return
        ingress = self.pipeline.ingresses[number]
        if (earliest := bounds.earliest(ingress.rows)) > ingress.watermark:
            for settled, more in zip(out, self.pipeline.advance(number, earliest), strict=True):
                settled.extend(more)

    def _adapt(self, took_s: float) -> None:
        if took_s < _SLICE_S:
            self._step_rows = min(2 * self._step_rows, BATCH_ROWS)
        elif took_s > 2 * _SLICE_S:
            self._step_rows = max(self._step_rows // 2, _FEWEST_ROWS)

    def complete(self) -> Iterator[list[list[Batch]]]:
        """Process what is left of rows that feeds gave at once: their offset comes after all of them."""
        while begun := self._rest.keys() & self._readings.keys():
            yield self._process(min(begun), whole=True)

    def drain(self) -> Iterator[list[list[Batch]]]:
        """Process what feeds have received, and let them receive no more."""
        yield from self.complete()
        for number, reading in self._readings.items():
            for batch in reading.rest():
                self.rows += len(batch)
                yield self.pipeline.push(number, batch)
        while self.pipeline.pending:
            yield self.pipeline.next_portion()

    def rejoin(self) -> None:
        """Follow the clock again, after all was closed."""
        if self.follower is not None:
            self.follower.rejoin()

    def close(self) -> None:
        """Let go of the sources."""
        self.dead_letters(self._streams.keys())
        self._close_streams()
        if self.follower is not None:
            self.follower.leave()

    def _close_streams(self) -> None:
        for stream in self._streams.values():
            _close(stream)


def _close(stream: Iterator[Batch | None]) -> None:
    if isinstance(stream, Generator | ReplayReader | FeedReader):
        stream.close()


def _malformed(source: Source) -> dict[str, int]:
    """Malformed rows of the latest read of a source, or of the one that it reads."""
    inner: Source | None = source
    while inner is not None:
        if inner.malformed:
            return dict(inner.malformed)
        inner = getattr(inner, "source", None)
    return {}

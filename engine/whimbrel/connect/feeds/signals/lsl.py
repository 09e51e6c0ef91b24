"""Feed of a stream of the Lab Streaming Layer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from time import monotonic
from typing import Any, Unpack

import numpy as np

from whimbrel.clock import Duration, Instant, TickUnit, parse_instant
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.signals.block_feed import BlockFeed
from whimbrel.connect.feeds.signals.device_sample_numbers import DeviceSampleNumbers
from whimbrel.connect.signals.signal_files import distinct_labels, signal_library
from whimbrel.connect.validation import check_name, checked_seconds
from whimbrel.errors import SourceError

_FORMATS = {1: "float32", 2: "float64", 4: "int32", 5: "int16", 6: "int8", 7: "int64"}
_MAX_SAMPLES = 65_536
_CORRECT_EVERY_S = 5.0
_CORRECT_S = 2.0


class LslFeed(BlockFeed):
    """Feed of a stream of the Lab Streaming Layer (LSL).

    Samples are counted with the nominal rate of the stream, so they are evenly spaced and never jump. The timestamps of
    LSL, corrected for the clock of the sender, give the time of the first sample. They may be ahead of the count by
    more than `step`, because samples were lost or the device is slower than its rate. The samples between are then a
    gap, counted in `lost`. Times never go back.

    Parameters
    ----------
    stream : str
        The name of the stream.
    step : str, timedelta or float (seconds)
        Largest difference between count and timestamps that is not a gap.
    start : str, datetime or int (ticks), optional
        Time of the first sample. Default: its timestamp, on the wall clock.
    unit, zone : optional
        Unit and zone of the times.
    find_timeout : float
        Longest search for the stream, in seconds.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.

    Notes
    -----
    Needs the extra ``signals``. The rate, the channels and their type come from the stream, which must run when the
    feed is created. A stream that is lost is searched again.
    """

    def __init__(self, stream: str, *, step: float | Duration = 0.25, start: Instant | None = None,
                 unit: TickUnit = "ns", zone: str | None = None, find_timeout: float = 5.0,
                 **options: Unpack[FeedOptions]) -> None:
        where = f"feeds.lsl({stream!r})"
        check_name("stream", stream, where=where)
        self.step_s = checked_seconds("step", step, where=where)
        self.find_s = checked_seconds("find_timeout", find_timeout, where=where)
        self.library = signal_library("pylsl", "pylsl", "signals", "feeds.lsl")
        self.lost = (OSError, EOFError, TimeoutError, self.library.util.LostError, self.library.util.TimeoutError)
        self.stream, self.where_text = stream, where
        inlet = self.inlet(wait_s=self.find_s)
        try:
            info = inlet.info(self.find_s)
            rate, type_ = info.nominal_srate(), _FORMATS.get(info.channel_format())
            labels = distinct_labels([label or "" for label in info.get_channel_labels() or [""] *
                                      info.channel_count()])
        finally:
            inlet.close_stream()
        if not rate or type_ is None:
            kind = "an irregular rate" if type_ else "text"
            raise SourceError(f"The stream {stream!r} must have numbers at a rate, but it has {kind}.", where=where,
                              hint="Use wb.feeds.iterator(...) with pylsl for events.")
        options.setdefault("name", stream)
        super().__init__("lsl", rate=rate, channels=labels, dtype=type_, unit=unit, zone=zone, **options)
        self.start = None if start is None else parse_instant(start, unit, zone, name="start", where=where)

    def inlet(self, wait_s: float) -> Any:
        """An inlet of the stream; an error if it is not found."""
        found = self.library.resolve_byprop("name", self.stream, 1, wait_s)
        if not found:
            raise SourceError(f"There is no stream {self.stream!r} of the Lab Streaming Layer.", where=self.where_text,
                              hint="Start the stream first, or search longer with find_timeout=.")
        return self.library.StreamInlet(found[0], max_buflen=360, recover=False)

    def connect(self, offset: Offset) -> Client:
        try:
            inlet = self.inlet(self.find_s)
        except SourceError as error:  # it was there: it may return
            raise ConnectionError(error.what) from None
        return _Inlet(self, inlet, offset)


class _Inlet(Client):
    """A client that pulls chunks of an inlet. Its offset is where the count of samples began."""

    answered = False

    def __init__(self, feed: LslFeed, inlet: Any, offset: Mapping[str, Any] | None) -> None:
        self._feed, self._inlet = feed, inlet
        self._zero: int | None = None if offset is None else offset["zero"]  # tick of sample 0
        known = {} if offset is None else {"zero_s": offset["zero_s"], "next": offset["next"]}
        self._numbers = DeviceSampleNumbers(feed.per_second, feed.step_s, **known)
        self._correction_s, self._correct_at = 0.0, 0.0
        self.lost: Counter[str] = Counter()

    def receive(self, timeout_s: float) -> MessageBatch | None:
        samples, stamps = self._inlet.pull_chunk(timeout_s, _MAX_SAMPLES, min_samples=1, as_numpy=True)
        if not len(stamps):
            return None
        self.answered = True
        if monotonic() >= self._correct_at:
            self._correction_s = self._inlet.time_correction(_CORRECT_S)
            self._correct_at = monotonic() + _CORRECT_EVERY_S
        feed, numbered = self._feed, self._numbers
        first_s = float(stamps[0]) + self._correction_s
        if self._zero is None:
            wall_s = time.time() - (feed.library.local_clock() - first_s)
            self._zero = feed.now(wall_s) if feed.start is None else feed.start
        first, lengths = self._pieces(stamps)
        at = feed.timebase(self._zero).times(first)
        if numbered.missing:
            self.lost["samples are missing in the timestamps"] = numbered.missing
        return MessageBatch(feed.blocks_of(at, lengths, np.asarray(samples)), {"zero": self._zero, **numbered.offset})

    def _pieces(self, stamps: Any) -> tuple[Any, Any]:
        """First samples and lengths of pieces of a chunk, between two of which samples are missing."""
        feed = self._feed
        usual = 1 / float(feed.per_second)
        jumps = np.flatnonzero(np.diff(stamps) > usual + feed.step_s) + 1
        most = max(1, int(feed.step_s * float(feed.per_second) / 4))  # a long chunk drifts, too
        starts = np.unique(np.concatenate([np.arange(0, len(stamps), most), jumps]))
        lengths = np.diff(starts, append=len(stamps))
        first = [self._numbers.number(int(count), float(stamps[row]) + self._correction_s)
                 for row, count in zip(starts, lengths, strict=True)]
        return np.array(first, np.int64), lengths

    def close(self) -> None:
        self._inlet.close_stream()

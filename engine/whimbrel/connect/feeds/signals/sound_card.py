"""Feed of the microphone of a sound card."""

from __future__ import annotations

import queue
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Unpack

import numpy as np

from whimbrel.clock import Instant, TickUnit, parse_instant
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.signals.block_feed import BlockFeed
from whimbrel.connect.feeds.signals.device_sample_numbers import DeviceSampleNumbers
from whimbrel.connect.signals.signal_files import signal_library
from whimbrel.connect.validation import is_whole
from whimbrel.errors import PlanError

_MAX_WAITING = 1_024
_STEP_S = 0.05


class SoundCardFeed(BlockFeed):
    """Feed of the microphone of a sound card.

    Samples that the sound card loses are gaps, counted in `lost`. Needs the extra ``audio``, and the PortAudio library
    of the system.

    Parameters
    ----------
    device : int or str, optional
        The device, as ``sounddevice.query_devices()`` shows it. Default: that of the system.
    rate : int
        Samples per second.
    channels : int or sequence of str
        The number of channels, or their names.
    dtype : {"int16", "int32", "float32"}
        Type of the samples.
    block : int
        Samples of a block.
    start : str, datetime or int (ticks), optional
        Time of the first sample. Default: the wall clock.
    unit, zone : optional
        Unit and zone of the times.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, device: int | str | None = None, *, rate: int = 48_000, channels: int | Sequence[str] = 1,
                 dtype: Any = "int16", block: int = 480, start: Instant | None = None, unit: TickUnit = "ns",
                 zone: str | None = None, **options: Unpack[FeedOptions]) -> None:
        where = f"feeds.audio({device!r})"
        if not is_whole(block) or block < 1:
            raise PlanError(f"block must be an integer of at least 1, got {block!r}.", where=where,
                            hint="Use for example block=480.")
        super().__init__("audio", rate=rate, channels=channels, dtype=dtype, unit=unit, zone=zone, **options)
        self.library = signal_library("sounddevice", "sounddevice with PortAudio", "audio", "feeds.audio")
        self.lost = (OSError, EOFError, TimeoutError, self.library.PortAudioError)
        self.device, self.block = device, block
        self.start = None if start is None else parse_instant(start, unit, zone, name="start", where=where)

    def connect(self, offset: Offset) -> Client:
        return _Microphone(self, offset)


class _Microphone(Client):
    """A client that takes the blocks of a stream of PortAudio."""

    def __init__(self, feed: SoundCardFeed, offset: Mapping[str, Any] | None) -> None:
        self._feed = feed
        self._zero: int | None = None if offset is None else offset["zero"]
        self._numbers = DeviceSampleNumbers(feed.per_second, _STEP_S, None, 0 if offset is None else offset["next"])
        self._ready: queue.Queue[tuple[Any, float]] = queue.Queue(_MAX_WAITING)
        self.lost: Counter[str] = Counter()
        self._stream = feed.library.InputStream(
            samplerate=float(feed.per_second), blocksize=feed.block, device=feed.device, channels=len(feed.channels),
            dtype=feed.dtype.name, callback=self._take)
        self._stream.start()

    def _take(self, samples: Any, frames: int, moment: Any, status: Any) -> None:
        with suppress(queue.Full):  # the time of the next block shows what is missing
            self._ready.put_nowait((samples.copy(), moment.inputBufferAdcTime))

    def receive(self, timeout_s: float) -> MessageBatch | None:
        try:
            samples, at_s = self._ready.get(timeout=timeout_s)
        except queue.Empty:
            return None
        feed, numbered = self._feed, self._numbers
        if numbered.zero_s is None:  # the clock of the device begins with each stream
            now = feed.now(time.time() - len(samples) / float(feed.per_second))
            if self._zero is None:
                self._zero = now if feed.start is None else feed.start
            numbered.next = max(numbered.next, feed.timebase(self._zero).first_sample(now) if numbered.next else 0)
            numbered.zero_s = at_s - float(numbered.next / feed.per_second)
        assert self._zero is not None
        first = numbered.number(len(samples), at_s)
        if numbered.missing:
            self.lost["samples that the sound card lost"] = numbered.missing
        at = np.array([feed.timebase(self._zero).time(first)])
        offset = {"zero": self._zero, **numbered.offset}
        return MessageBatch(feed.blocks_of(at, np.array([len(samples)]), samples), offset)

    def close(self) -> None:
        self._stream.close()

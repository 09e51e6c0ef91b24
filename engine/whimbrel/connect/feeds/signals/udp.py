"""Feed of datagrams of samples, with sequence numbers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from time import monotonic
from typing import Any, Literal, Unpack

import numpy as np

from whimbrel.clock import Instant, Rate, TickUnit, parse_instant
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.datagram_socket import MAX_DATAGRAM, open_datagram_socket
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.signals.block_feed import BlockFeed
from whimbrel.connect.validation import check_choice, is_whole
from whimbrel.errors import PlanError

_MAX_AT_ONCE = 4_096
_REMEMBERED = 65_536
"""Missing numbers that are remembered, since their datagrams may still arrive."""
_LOST = "datagrams did not arrive"


class UdpFeed(BlockFeed):
    """Feed of samples in datagrams.

    A datagram has a sequence number and samples, one value for each channel in turn. Lost datagrams are gaps, and are
    counted in `lost`. Out-of-order datagrams are sorted within `reorder_latency`, later ones are dropped. A sequence
    number gives the time of its samples: the first datagram is at `start`, and a datagram of a lower number is before.

    Parameters
    ----------
    port : int
        The port to receive at; 0 for a free one.
    rate : int, float, str, Fraction or Decimal
        Samples per second.
    samples : int
        Samples of each channel in a datagram.
    channels : int or sequence of str
        The number of channels, or their names.
    dtype : str
        Type of the samples, with their byte order: ``"<i2"``, ``">f4"``.
    sequence : str
        Type of the sequence number, an unsigned integer with its byte order. It may wrap around.
    counts : {"datagrams", "samples"}
        What the sequence number counts.
    header : int, optional
        Bytes before the samples. Default: those of the sequence number.
    position : int
        Position of the sequence number in the header, in bytes.
    host : str
        The address to receive at. Default: ``"127.0.0.1"``, for senders on this machine. ``"0.0.0.0"`` is all of them:
        anybody who can reach the port can then send samples.
    start : str, datetime or int (ticks), optional
        Time of the first sample. Default: the wall clock when the first datagram arrives.
    unit, zone : optional
        Unit and zone of the times.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.
    """

    def __init__(self, port: int, *, rate: Rate, samples: int, channels: int | Sequence[str] = 1, dtype: Any = "<i2",
                 sequence: Any = "<u4", counts: Literal["datagrams", "samples"] = "datagrams",
                 header: int | None = None, position: int = 0, host: str = "127.0.0.1", start: Instant | None = None,
                 unit: TickUnit = "ns", zone: str | None = None, **options: Unpack[FeedOptions]) -> None:
        where = f"feeds.udp({port!r}, ...)"
        if not is_whole(port) or not 0 <= port < 1 << 16:
            raise PlanError(f"port must be an integer from 0 to 65535, got {port!r}.", where=where,
                            hint="Use the port that the sender sends to.")
        if not is_whole(samples) or samples < 1:
            raise PlanError(f"samples must be an integer of at least 1, got {samples!r}.", where=where,
                            hint="Use the number of samples of a channel in a datagram.")
        check_choice("counts", counts, ("datagrams", "samples"), where=where)
        self.sequence = _sequence_type(sequence, where)
        self.header = self.sequence.itemsize if header is None else header
        if not (is_whole(self.header) and is_whole(position) and 0 <= position <= self.header - self.sequence.itemsize):
            raise PlanError(f"header must have the {self.sequence.itemsize} bytes of the sequence number, got "
                            f"header={header!r} and position={position!r}.", where=where,
                            hint="Use the size of the header in bytes.")
        self.port, self.host, self.datagram_samples, self.position = int(port), host, int(samples), position
        self.counts_samples = counts == "samples"
        super().__init__("udp", rate=rate, channels=channels, dtype=dtype, unit=unit, zone=zone, **options)
        self.size = self.header + self.datagram_samples * len(self.channels) * self.dtype.itemsize
        if self.size > MAX_DATAGRAM:
            raise PlanError(f"A datagram has at most {MAX_DATAGRAM:,} bytes, but these samples need {self.size:,}.",
                            where=where, hint="Use fewer samples= in a datagram.")
        self.start = None if start is None else parse_instant(start, unit, zone, name="start", where=where)

    def connect(self, offset: Offset) -> Client:
        return _Receiver(self, offset)


def _sequence_type(sequence: Any, where: str) -> np.dtype[Any]:
    try:
        found = np.dtype(sequence)
    except TypeError:
        found = np.dtype(object)
    if found.kind != "u":
        raise PlanError(f"sequence must be an unsigned integer type, got {sequence!r}.", where=where,
                        hint='Use for example sequence=">u4".')
    return found


class _Receiver(Client):
    """A client that receives datagrams. Its offset is where sequence numbers began."""

    answered = False

    def __init__(self, feed: UdpFeed, offset: Offset) -> None:
        self._feed = feed
        self._zero: int | None = None if offset is None else offset["zero"]  # tick of number 0
        self._newest: int | None = None if offset is None else offset["newest"]
        self._missing: dict[int, None] = {}
        self.lost: Counter[str] = Counter()
        self._link = open_datagram_socket(feed.host, feed.port, feed.call)

    @property
    def address(self) -> Any:
        """Address and port of the socket."""
        return self._link.getsockname()

    def receive(self, timeout_s: float) -> MessageBatch | None:
        datagrams = self._received(timeout_s)
        feed = self._feed
        fine = [each for each in datagrams if len(each) == feed.size]
        for each in datagrams:
            if len(each) != feed.size:
                feed.dead_letters.refuse(each, f"a datagram that has not {feed.size} bytes")
        if not fine:
            return None
        self.answered = True
        data = np.frombuffer(b"".join(fine), np.uint8).reshape(len(fine), feed.size)
        stamp = data[:, feed.position : feed.position + feed.sequence.itemsize]
        numbers = self._unwrapped(np.ascontiguousarray(stamp).view(feed.sequence)[:, 0])
        samples = np.ascontiguousarray(data[:, feed.header :]).view(feed.dtype).reshape(-1, len(feed.channels))
        first = numbers if feed.counts_samples else numbers * feed.datagram_samples
        if self._zero is None:  # the first datagram is at the start
            start = feed.now(time.time()) if feed.start is None else feed.start
            self._zero = start - feed.timebase(0).time(int(first[0]))
        at = feed.timebase(self._zero).times(first)
        lengths = np.full(len(fine), feed.datagram_samples, np.int64)
        return MessageBatch(feed.blocks_of(at, lengths, samples), {"zero": self._zero, "newest": self._newest})

    def _received(self, timeout_s: float) -> list[bytes]:
        found: list[bytes] = []
        until = monotonic() + timeout_s
        self._link.settimeout(timeout_s)
        try:
            found.append(self._link.recv(MAX_DATAGRAM))
            self._link.settimeout(0)
            while len(found) < _MAX_AT_ONCE and monotonic() < until:
                found.append(self._link.recv(MAX_DATAGRAM))
        except (TimeoutError, BlockingIOError):
            pass
        return found

    def _unwrapped(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Numbers that do not wrap around, each the one that is nearest to the newest."""
        found = []
        span = 1 << min(8 * self._feed.sequence.itemsize, 62)
        step = self._feed.datagram_samples if self._feed.counts_samples else 1
        for number in numbers.tolist():
            newest = self._newest
            if newest is None:
                whole = number % span
            else:
                ahead = (number - newest) % span
                whole = newest + (ahead if ahead < span // 2 else ahead - span)
            self._note(whole, step)
            found.append(whole)
        return np.array(found, np.int64)

    def _note(self, number: int, step: int) -> None:
        """Count the datagrams between the newest one and this one, until they arrive."""
        if self._newest is None or number > self._newest:
            between = 0 if self._newest is None else (number - self._newest - 1) // step
            self.lost[_LOST] += between
            for each in range(max(1, between - _REMEMBERED + 1), between + 1):
                self._missing[(self._newest or 0) + each * step] = None
            while len(self._missing) > _REMEMBERED:
                del self._missing[next(iter(self._missing))]
            self._newest = number
        elif number in self._missing:
            del self._missing[number]
            self.lost[_LOST] -= 1

    def close(self) -> None:
        self._link.close()

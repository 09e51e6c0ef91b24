"""Feed of generated samples, for demos and tests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any, Unpack

import numpy as np

from whimbrel.clock import Instant, Rate, TickUnit, parse_instant
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.signals.block_feed import Array, BlockFeed
from whimbrel.connect.validation import is_seconds, is_whole
from whimbrel.errors import PlanError

_CHUNK_SAMPLES = 65_536


class WavesFeed(BlockFeed):
    """Feed of generated waves: sines and noise, for demos and tests.

    The same seed gives the same samples, however they are cut into blocks of time.

    Parameters
    ----------
    rate : int, float, str, Fraction or Decimal
        Samples per second.
    channels : int or sequence of str
        The number of channels, or their names. Channel number k (from 0) has a frequency of ``(k + 1) * frequency``.
    frequency : float
        Cycles per second of the first channel.
    amplitude, noise : float
        Amplitude of the sines, and standard deviation of the noise.
    drift_ppm : float
        How much too fast the clock of the source runs, in millionths: its waves are slower than they should be.
    dropouts : (float, float), optional
        Period and length in seconds of gaps, at the end of each period.
    samples : int, optional
        Number of samples, gaps included. Default: unbounded.
    block : int
        Samples of a block.
    speed : float
        Seconds of the signal per second; ``float("inf")``: as fast as possible.
    dtype : str
        Type of the samples. Integers are rounded and limited to their range.
    start : str, datetime or int (ticks)
        Time of the first sample.
    unit, zone : optional
        Unit and zone of the times.
    seed : int
    **feed_options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.

    Examples
    --------
    >>> import whimbrel as wb
    >>> feed = wb.feeds.waves(1000, samples=5000, dropouts=(2, 0.5), speed=float("inf"))
    >>> feed.collect_samples()
    Samples(4,000 of ch1 at 1000 per second, 2 gaps)
    """

    def __init__(self, rate: Rate = 48_000, *, channels: int | Sequence[str] = 1, frequency: float = 440.0,
                 amplitude: float = 1.0, noise: float = 0.0, drift_ppm: float = 0.0,
                 dropouts: tuple[float, float] | None = None, samples: int | None = None, block: int = 480,
                 speed: float = 1.0, dtype: Any = "float32", start: Instant = "2024-01-01", unit: TickUnit = "ns",
                 zone: str | None = None, seed: int = 0, **options: Unpack[FeedOptions]) -> None:
        for name, value, fine, rule, example in (
                ("frequency", frequency, frequency == 0 or is_seconds(frequency), "a number of at least 0", 440.0),
                ("amplitude", amplitude, amplitude == 0 or is_seconds(amplitude), "a number of at least 0", 1.0),
                ("noise", noise, noise == 0 or is_seconds(noise), "a number of at least 0", 0.1),
                ("drift_ppm", drift_ppm, drift_ppm == 0 or is_seconds(abs(drift_ppm)), "a number", 50.0),
                ("dropouts", dropouts, dropouts is None or _is_dropout(dropouts),
                 "a period and a shorter length in seconds", (60, 0.5)),
                ("samples", samples, samples is None or (is_whole(samples) and samples >= 0),
                 "an integer of at least 0", 48_000),
                ("block", block, is_whole(block) and block > 0, "an integer of at least 1", 480),
                ("speed", speed, speed == float("inf") or is_seconds(speed), "a positive number", 1.0),
                ("seed", seed, is_whole(seed) and seed >= 0, "an integer of at least 0", 0)):
            if not fine:
                raise PlanError(f"{name} must be {rule}, got {value!r}.", where="feeds.waves(...)",
                                hint=f"Use for example {name}={example}.")
        self.frequency, self.amplitude, self.noise, self.seed = frequency, amplitude, noise, seed
        self.drift_ppm, self.dropouts, self.speed = drift_ppm, dropouts, speed
        self.max_samples, self.block_samples = samples, block
        super().__init__("waves", rate=rate, channels=channels, dtype=dtype, unit=unit, zone=zone, **options)
        self.start = parse_instant(start, unit, zone, name="start", where="feeds.waves(...)")

    def connect(self, offset: Offset) -> Client:
        return _Generator(self, int(offset or 0))

    def values(self, first: int, stop: int) -> Array:
        """Samples of a range, a column for each channel."""
        numbers = np.arange(first, stop)
        seconds_per_sample = (1 - self.drift_ppm * 1e-6) / float(self.per_second)
        waves = np.stack([self.amplitude * np.sin(2 * np.pi * np.mod(
            numbers * (self.frequency * (channel + 1) * seconds_per_sample), 1.0)) for channel in range(
                len(self.channels))], 1)
        if self.noise:
            waves += self.noise * self._normal(first, stop)
        if self.dtype.kind == "f":
            return waves.astype(self.dtype)
        limits = np.iinfo(self.dtype)
        return np.clip(np.rint(waves), limits.min, limits.max).astype(self.dtype)

    def _normal(self, first: int, stop: int) -> Array:
        """Random numbers of a range, made in chunks so that they do not depend on how it is cut."""
        parts = []
        for chunk in range(first // _CHUNK_SAMPLES, -(-stop // _CHUNK_SAMPLES)):
            chance = np.random.default_rng([self.seed, chunk])
            begin = chunk * _CHUNK_SAMPLES
            parts.append(chance.normal(size=(_CHUNK_SAMPLES, len(self.channels)))[
                max(first - begin, 0) : stop - begin])
        return np.concatenate(parts)

    def there(self, first: int, stop: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which samples of a range are there, and in no gap."""
        if self.dropouts is None:
            return np.ones(stop - first, np.bool_)
        every, length = self.dropouts
        return np.mod(np.arange(first, stop) / float(self.per_second), every) < every - length


def _is_dropout(value: object) -> bool:
    return (isinstance(value, tuple | list) and len(value) == 2 and all(map(is_seconds, value))
            and value[1] < value[0])


class _Generator(Client):
    """A client that returns blocks when their last sample is due."""

    def __init__(self, feed: WavesFeed, block: int) -> None:
        self._feed, self._next = feed, block
        self._began, self._first = monotonic(), block
        self._closed = threading.Event()

    def receive(self, timeout_s: float) -> MessageBatch | None:
        feed, size = self._feed, self._feed.block_samples
        last = None if feed.max_samples is None else -(-feed.max_samples // size)
        if last is not None and self._next >= last:
            raise EOFError
        stop = self._next + max(1, _CHUNK_SAMPLES // size)
        if feed.speed != float("inf"):
            per_s = float(feed.per_second) * feed.speed / size
            stop = min(stop, self._first + int((monotonic() - self._began) * per_s))
            if stop <= self._next:
                due_s = (self._next + 1 - self._first) / per_s - (monotonic() - self._began)
                self._closed.wait(min(timeout_s, max(due_s, 0.0)))
                return None
        stop = stop if last is None else min(stop, last)
        first, end = self._next * size, stop * size
        end = end if feed.max_samples is None else min(end, feed.max_samples)
        self._next = stop
        return MessageBatch(self._blocks(first, end), stop)

    def _blocks(self, first: int, stop: int) -> Any:
        """A row for each block, and for each part of one that a gap cuts."""
        feed = self._feed
        there = feed.there(first, stop)
        cut = np.flatnonzero(np.diff(there)) + 1
        starts = np.unique(np.concatenate([np.arange(0, stop - first, feed.block_samples), cut]))
        lengths = np.diff(starts, append=stop - first)
        kept = there[starts]
        return feed.blocks_of(feed.timebase(feed.start).times(first + starts[kept]), lengths[kept],
                         feed.values(first, stop)[there])

    def close(self) -> None:
        self._closed.set()

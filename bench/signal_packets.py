"""Packets that five receivers hear with errors: which receivers fade together, and what a vote recovers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench.compare import Row
from bench.figure import Figure
from bench.signal_sides import Array, in_blocks, segment_samples
from whimbrel import Stream, col

BYTES = 1_500
PACKET_US = 6_000
RATE = BYTES * 1_000_000 // PACKET_US
RECENT = 1_000
"""Packets over which errors are correlated."""
RECEIVERS = 5
FADES = (0, 0, 1, 1, 2)
"""Receivers with one number fade together."""
TOGETHER = 0.5
"""Correlation from which on two receivers belong to one cluster."""


@dataclass(frozen=True)
class Traffic:
    """What was sent, and what each receiver received.

    Attributes
    ----------
    sent : array of uint8, (packets, bytes)
    received : array of uint8, (receivers, packets, bytes)
    arrived : array of int64, (receivers, packets)
        Microseconds after the start; up to 10 ms late, so that packets overtake each other.
    bad : array of int8, (receivers, packets)
        Whether the checksum fails.
    """

    sent: Array
    received: Array
    arrived: Array
    bad: Array

    def windows(self, receiver: int) -> Stream:
        """The packets of a receiver in the order in which they were sent, a segment each."""
        order = np.argsort(self.arrived[receiver], kind="stable")
        payload = pa.FixedSizeListArray.from_arrays(pa.array(self.received[receiver][order].reshape(-1)), BYTES)
        times = pa.array(order * PACKET_US).cast(pa.timestamp("us"))
        rows = pa.table({"at": times, "p": payload})
        stream = wb.from_arrow(rows, time="at", samples="p", rate=RATE, reorder_latency="20ms")
        return stream.rewindow(BYTES)


def errors(bad: Array) -> Stream:
    """Whether each packet was bad, with a channel for each receiver."""
    channels = {f"e{receiver}": each for receiver, each in enumerate(bad)}
    return wb.from_samples(channels, rate=Fraction(1_000_000, PACKET_US), start=0, unit="us")


def traffic(packets: int) -> Traffic:
    """Bursts of bit errors from channels that are good or bad for a while; some of them are shared."""
    chance = np.random.default_rng(8)
    sent = chance.integers(0, 256, (packets, BYTES), np.uint8)
    fading = np.array([_two_states(chance, packets) for _ in range(max(FADES) + 1)])
    received = np.repeat(sent[None], RECEIVERS, axis=0)
    for receiver, fade in enumerate(FADES):
        hit = np.flatnonzero(fading[fade] & (chance.random(packets) < 0.95) | (chance.random(packets) < 0.01))
        flips = chance.integers(0, 256, (len(hit), 40), np.uint8)
        where = chance.integers(0, BYTES, (len(hit), 40))
        received[receiver][hit[:, None], where] ^= flips
    bad = (received != sent[None]).any(axis=2).astype(np.int8)
    arrived = np.arange(packets) * PACKET_US + chance.integers(0, 10_000, (RECEIVERS, packets))
    return Traffic(sent, received, arrived, bad)


def _two_states(chance: np.random.Generator, packets: int) -> Array:
    """Good and bad times, whose lengths are geometric."""
    lengths = np.stack([chance.geometric(0.02, packets), chance.geometric(0.1, packets)], axis=1).reshape(-1)
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)[:packets]


def clusters(correlations: dict[tuple[int, int], float]) -> list[int]:
    """One receiver of each cluster."""
    chosen: list[int] = []
    for receiver in range(RECEIVERS):
        if all(correlations[other, receiver] < TOGETHER for other in chosen):
            chosen.append(receiver)
    return chosen


def packets(samples: int) -> Iterator[Row | Figure]:
    """Correlations and votes against NumPy on whole arrays, and the share of packets that are recovered."""
    count = max(RECENT, samples // (RECEIVERS * BYTES) // RECENT * RECENT)
    air, flags = traffic(count), max(RECENT, samples // RECEIVERS // RECENT * RECENT)
    long = np.tile(air.bad, flags // count + 1)[:, :flags]
    pairs = list(combinations(range(RECEIVERS), 2))
    correlated = {f"c{one}{other}": wb.correlate(col[f"e{one}"], col[f"e{other}"]) for one, other in pairs}

    def whole() -> Array:
        parts = long.reshape(RECEIVERS, -1, RECENT)
        found = [np.corrcoef(parts[:, part]) for part in range(parts.shape[1])]
        return np.array([[each[pair] for pair in pairs] for each in found])

    def same(ours: pa.Table, theirs: Array) -> bool:
        return np.allclose(np.stack([ours[name].to_numpy() for name in correlated], axis=1), theirs, rtol=1e-9)

    def recent(bad: Array) -> Stream:
        return errors(bad).rewindow(RECENT).select(**correlated)

    yield from in_blocks("F packets", "errors correlated", RECEIVERS * flags, lambda: recent(long), Stream.collect,
                         {"NumPy whole": whole}, same)
    last = recent(air.bad).collect().to_pylist()[-1]
    chosen = clusters({pair: last[f"c{pair[0]}{pair[1]}"] for pair in pairs})
    assert len(chosen) == len(set(FADES)), f"clusters {chosen}"

    def voted() -> Stream:
        first, *others = (air.windows(receiver).select(**{f"p{receiver}": col.p}) for receiver in chosen)
        for other in others:
            first = first.zip(other)
        return first.select(p=wb.majority(*(col[f"p{receiver}"] for receiver in chosen)))

    def voted_whole() -> Array:
        one, two, three = (air.received[receiver] for receiver in chosen)
        return (one & two) | (one & three) | (two & three)

    yield from in_blocks("F packets", "a vote by bit (paper: 0.24)", len(chosen) * count, voted, Stream.collect,
                         {"NumPy whole": voted_whole},
                         lambda ours, theirs: np.array_equal(segment_samples(ours["p"]), theirs.reshape(-1)))
    votes = segment_samples(voted().collect()["p"]).reshape(-1, BYTES)
    alone, together = 1 - air.bad.mean(axis=1).min(), (votes == air.sent).all(axis=1).mean()
    assert together > alone
    yield Figure("F packets", "whole after the vote", "%", 100 * float(together),
                 f"of the best receiver alone {100 * float(alone):.1f}%")

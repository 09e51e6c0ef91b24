"""Samples of benchmarks: blocks of several sizes, and comparisons in each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

import whimbrel as wb
from bench.compare import Row, Side, compare
from bench.sides import Ours
from whimbrel import Stream
from whimbrel.connect.signals import sample_source

Array = np.ndarray[Any, Any]

RATE = 48_000
SMALL_BLOCKS = (16_384, 2_048)
"""Samples of the blocks whose figures stand next to those of blocks of 262,144."""


def signal(**channels: Array) -> Stream:
    """Samples in memory."""
    return wb.from_samples(channels, rate=RATE, start=0, unit="ns")


@contextmanager
def blocks_of(samples: int) -> Iterator[None]:
    """Sources give blocks of so many samples meanwhile."""
    with mock.patch.object(sample_source, "BATCH_ROWS", samples):
        yield


def in_blocks(workload: str, case: str, samples: int, build: Callable[[], Stream], answer: Callable[[Stream], Any],
              peers: Mapping[str, Side], same: Callable[[Any, Any], bool], *, roof: str | None = None) -> Iterator[Row]:
    """Compare in blocks of 262,144 with all peers, and in smaller ones with the first."""
    yield from compare(workload, case, samples, Ours(build, answer), peers, same, roof=roof)
    name, peer = next(iter(peers.items()))
    for block in SMALL_BLOCKS:
        sides = [_small(side, block) for side in (Ours(build, answer), peer)]
        yield from compare(workload, f"{case}, blocks of {block:,}", samples, sides[0], {name: sides[1]}, same)


def _small(side: Side, block: int) -> Side:
    """A side of this engine in blocks of this size; others as they are."""
    if not isinstance(side, Ours):
        return side
    answer = side.run

    def run(query: Any) -> Any:
        with blocks_of(block):
            return answer(query)

    return Ours(side.build, run, side.setting)


def segment_samples(column: Any) -> Array:
    """The samples of an Arrow column of segments, end to end."""
    return np.concatenate([chunk.storage.field("samples").flatten().to_numpy() for chunk in column.chunks])

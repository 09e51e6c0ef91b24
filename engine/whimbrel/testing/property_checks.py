"""Check the declared properties of plans against every batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from whimbrel.batch import Batch
from whimbrel.clock import INF
from whimbrel.kernels import Kernel
from whimbrel.optimize import optimize
from whimbrel.plan import Node, NonOverlapping, Operator, Sampling
from whimbrel.run import Pipeline


def broken_promises(plan: Node) -> list[str]:
    """Run a plan to its end, on what its sources give, and list what is not as its properties say."""
    pipeline = Pipeline(optimize(plan))
    watched = [_Watched(kernel, node) for kernel, node in zip(pipeline.kernels, pipeline.nodes, strict=True)
               if isinstance(node.op, Operator)]
    for number, node in enumerate(pipeline.nodes):
        pipeline.kernels[number] = next((each for each in watched if each.node is node), pipeline.kernels[number])
    for number, source in enumerate(pipeline.sources):
        for batch in source.read(source.schema.names):
            if batch is not None:
                pipeline.push(number, batch)
    for number in range(len(pipeline.sources)):
        pipeline.finish(number)
    return [broken for each in watched for broken in each.broken()]


class _Watched(Kernel):
    """A kernel whose answers are kept."""

    def __init__(self, kernel: Kernel, node: Node) -> None:
        self.kernel, self.node, self.out = kernel, node, list[Batch]()

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        return self._kept(list(self.kernel.push(batch, port)))

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        return self._kept(list(self.kernel.advance(watermark, port)))

    def _kept(self, out: list[Batch]) -> list[Batch]:
        self.watermark = self.kernel.watermark
        self.out += out
        return out

    def broken(self) -> Iterator[str]:
        assert isinstance(self.node.op, Operator)
        known, name = self.node.properties, self.node.op.show()
        if known.packed and any(batch.absent is not None for batch in self.out):
            yield f"{name}: not packed"
        rows = [batch.compact() for batch in self.out]
        if not rows:
            return
        sync, other = np.concatenate([batch.sync for batch in rows]), np.concatenate([batch.other for batch in rows])
        if known.in_order and (np.diff(sync) < 0).any():
            yield f"{name}: not in order"
        if known.intervals_only and (other < sync).any():
            yield f"{name}: an edge among intervals"
        if known.starts_only and (other != INF).any():
            yield f"{name}: an event ends"
        if known.duration is not None and (other - sync != known.duration).any():
            yield f"{name}: a duration is not {known.duration}"
        if known.grid is not None and ((sync - known.grid.offset) % known.grid.hop).any():
            yield f"{name}: a start is not on the grid"
        if known.apart is not None and _overlap(rows, known.apart):
            yield f"{name}: not {known.apart.show()}"
        if known.sampling is not None and _off_samples(rows, known.sampling):
            yield f"{name}: not {known.sampling.show()}"


def _overlap(rows: list[Batch], apart: NonOverlapping) -> bool:
    events: dict[tuple[Any, ...], list[list[int]]] = {}
    for batch in rows:
        keys = list(zip(*(batch.column(name).to_arrow().to_pylist() for name in sorted(apart.per)), strict=True))
        for row in range(len(batch)):
            mine = events.setdefault(keys[row] if keys else (), [])
            start, end = int(batch.sync[row]), int(batch.other[row])
            if end > start:
                mine.append([start, end])
            else:  # an end edge
                next(event for event in mine if event == [end, INF])[1] = start
    for each in events.values():
        each.sort()
        if any(first[1] > second[0] for first, second in itertools.pairwise(each)):
            return True
        if apart.period is not None and any(
                (second[0] - first[0]) % apart.period if apart.gaps else second[0] - first[0] != apart.period
                for first, second in itertools.pairwise(each)):
            return True
    return False


def _off_samples(rows: list[Batch], sampling: Sampling) -> bool:
    """Whether an event does not start at a sample, or two of a key start at the same one, or one is missing."""
    starts: dict[tuple[Any, ...], list[int]] = {}
    for batch in rows:
        keys = list(zip(*(batch.column(name).to_arrow().to_pylist() for name in sorted(sampling.per)), strict=True))
        for row in range(len(batch)):
            if batch.other[row] > batch.sync[row]:
                starts.setdefault(keys[row] if keys else (), []).append(int(batch.sync[row]))
    for each in starts.values():
        zero = each[0] if sampling.phase is None else sampling.phase
        samples = [round((start - zero) / sampling.period) for start in each]
        off = (abs(start - zero - sample * sampling.period) for start, sample in zip(each, samples, strict=True))
        if max(off) >= 1 or len(set(samples)) < len(samples):
            return True
        if not sampling.gaps and max(samples) - min(samples) != len(samples) - 1:
            return True
    return False

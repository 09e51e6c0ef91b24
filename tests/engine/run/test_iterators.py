"""Kernels that answer with an iterator: the driver takes one batch at a time through all that follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

import whimbrel as wb
from whimbrel.batch import Batch, Schema
from whimbrel.errors import KernelError
from whimbrel.kernels import Kernel, Stateless
from whimbrel.plan import Node, Operator
from whimbrel.run import Pipeline

CALLS: list[str] = []


class RowByRow(Kernel):
    """Makes a batch of each row when it is asked for it."""

    def __init__(self, fails: bool) -> None:
        self.fails = fails

    def push(self, batch: Batch, port: int = 0) -> Iterator[Batch]:
        self.watermark = batch.time(-1) + 1
        for number in range(len(batch)):
            if self.fails and number == 2:
                raise KernelError("The third one fails.", where="repeat")
            CALLS.append(f"make {number}")
            yield batch.slice(number, number + 1)

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return []


class Noting(Stateless):
    """Notes what it gets."""

    def apply(self, batch: Batch) -> Batch:
        CALLS.append("take")
        return batch

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        CALLS.append("advance")
        return super().advance(watermark, port)  # type: ignore[return-value]


@dataclass(frozen=True, kw_only=True, eq=False)
class Step(Operator):
    make: object

    def schema(self, *upstream: Schema) -> Schema:
        return upstream[0]

    def kernel(self, *upstream: Schema) -> Kernel:
        assert callable(self.make)
        made: Kernel = self.make()
        return made

    def show(self) -> str:
        return "step"


def plan(*, fails: bool = False) -> Node:
    log = wb.from_arrow({"at": np.arange(4), "x": np.arange(4)}, time="at").node
    return Node(Step(make=Noting), (Node(Step(make=lambda: RowByRow(fails)), (log,)),))


def test_each_batch_reaches_the_result_before_the_next_is_made_and_the_watermark_is_last() -> None:
    CALLS.clear()
    pipeline = Pipeline(plan())
    given, = pipeline.push(0, next(batch for batch in pipeline.sources[0].read(("at", "x")) if batch is not None))
    given += pipeline.finish(0)[0]
    assert CALLS[:5] == ["make 0", "take", "make 1", "take", "make 2"]
    assert CALLS[7:9] == ["take", "advance"]
    assert list(map(len, given)) == [1, 1, 1, 1]
    assert pipeline.work[1].rows_out == 4


def test_a_query_over_it_is_answered_and_profiled() -> None:
    query = wb.Stream(plan()).aggregate(n=wb.count())
    assert query.collect()["n"].to_pylist() == [1, 1, 1, 1]
    assert query.profile().operators["rows_out"].to_pylist()[1] == 4


def test_an_error_between_two_batches_ends_the_query() -> None:
    with pytest.raises(KernelError, match="The third one fails"):
        wb.Stream(plan(fails=True)).collect()

"""Profile a query by operator, by kernel and by compilation."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.kernels import Kernel, wait_for_compiler, watched
from whimbrel.plan import Node, Source
from whimbrel.run.execution import Execution
from whimbrel.run.plan_costs import explain_costs, step_costs


@dataclass(frozen=True)
class Profile:
    """Cost of one run of a query.

    Attributes
    ----------
    operators : pyarrow.Table
        One row for each operator of the plan that ran, in the order of the work: ``operator`` as in ``explain()``,
        ``rows_in``, ``rows_out``, ``batches`` (that it was given) and ``seconds``, its own only.
    kernels : pyarrow.Table
        One row for each compiled function, most expensive first: ``kernel``, ``calls`` and ``seconds``, which are part
        of those of the operators and of `reading`.
    seconds : float
        All of it.
    compiling : float
        Seconds of it that were spent waiting for the compiler; no operator is charged for them.
    reading : float
        Seconds of it in which the sources made rows, and batches were handed from one operator to the next.
    """

    operators: pa.Table
    kernels: pa.Table
    seconds: float
    compiling: float
    reading: float

    def __str__(self) -> str:
        rows = self.operators.to_pylist()
        lines = [f"{'rows in':>12} {'rows out':>12} {'ms':>9}  operator"]
        lines += [f"{row['rows_in']:>12,} {row['rows_out']:>12,} {1e3 * row['seconds']:>9.1f}  {row['operator']}"
                  for row in rows]
        lines += [f"{'':>25} {1e3 * spent:>9.1f}  {what}" for what, spent in (
            ("reading, and handing on", self.reading), ("waiting for the compiler", self.compiling),
            ("all", self.seconds))]
        lines += ["", f"{'calls':>25} {'ms':>9}  kernel"]
        lines += [f"{row['calls']:>25,} {1e3 * row['seconds']:>9.1f}  {row['kernel']}"
                  for row in self.kernels.to_pylist()]
        return "\n".join(lines)

    __repr__ = __str__

Answer = list[Batch] | Iterator[Batch]
"""What a kernel answers."""


@dataclass
class _Watch:
    """Adds up what happens."""

    waited: float = 0.0
    calls: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def record(self, name: str, seconds: float, waiting: bool) -> None:
        if waiting:
            self.waited += seconds
        else:
            self.calls[name] += 1
            self.seconds[name] += seconds

    def stand_before(self, kernel: Kernel) -> Callable[[], float]:
        """Tells how long a kernel has waited for the compiler."""
        waited = 0.0

        def waiting(method: Callable[..., Answer]) -> Callable[..., Answer]:
            def call(*arguments: Any) -> Answer:
                nonlocal waited
                before = self.waited
                out = method(*arguments)
                waited += self.waited - before
                return out if isinstance(out, list) else items(out)

            return call

        def items(answer: Iterator[Batch]) -> Iterator[Batch]:
            nonlocal waited
            while True:
                before = self.waited
                batch = next(answer, None)
                waited += self.waited - before
                if batch is None:
                    return
                yield batch

        kernel.push = waiting(kernel.push)  # type: ignore[method-assign]
        kernel.advance = waiting(kernel.advance)  # type: ignore[method-assign]
        return lambda: waited


def explain_measured(plan: Node, max_rows: int) -> str:
    """Run a query on the first rows of its sources, on one thread, and print its plan with the cost of each step."""
    watch = _Watch()
    with watched(watch.record), wait_for_compiler(), closing(Execution(plan, keep_rows=0, hurry=True)) as session:
        waited = [watch.stand_before(kernel) for kernel in session.pipeline.kernels]
        while not session.finished and session.reader.rows < max_rows:
            session.step()
        pipeline = session.pipeline
        costs = step_costs(pipeline, range(len(pipeline.nodes)), [waited_s() for waited_s in waited])
        return explain_costs(pipeline.nodes[-1], costs)


def profile(plan: Node) -> Profile:
    """Run a query to its end, on one thread, and measure."""
    watch = _Watch()
    began = time.perf_counter()
    with watched(watch.record), wait_for_compiler(), closing(Execution(plan, keep_rows=0, hurry=True)) as session:
        waited = [watch.stand_before(kernel) for kernel in session.pipeline.kernels]
        while not session.finished:
            session.step()
        seconds = time.perf_counter() - began
        work = session.pipeline.work
        spent = [done.seconds - waited_s() for done, waited_s in zip(work, waited, strict=True)]
        names = [node.op.name if isinstance(node.op, Source) else node.op.show() for node in session.pipeline.nodes]
    kernels = sorted(watch.seconds, key=watch.seconds.__getitem__, reverse=True)
    return Profile(
        operators=pa.table({"operator": pa.array(names, pa.string()),
                            "rows_in": list(map(session.pipeline.rows_in, range(len(work)))),
                            "rows_out": [done.rows_out for done in work],
                            "batches": [done.batches for done in work], "seconds": spent}),
        kernels=pa.table({"kernel": pa.array(kernels, pa.string()),
                          "calls": pa.array([watch.calls[name] for name in kernels], pa.int64()),
                          "seconds": pa.array([watch.seconds[name] for name in kernels], pa.float64())}),
        seconds=seconds, compiling=watch.waited,
        reading=seconds - watch.waited - sum(spent))


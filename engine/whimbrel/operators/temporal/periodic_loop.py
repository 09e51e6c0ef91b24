"""Fuse several operators over periodic streams into one loop over slots."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.batch import Schema
from whimbrel.clock import TickUnit, quote_ticks
from whimbrel.kernels import Kernel
from whimbrel.plan import Operator, Properties, Reach
from whimbrel.temporal.bounds import loop_reach
from whimbrel.temporal.keyed_periodic_kernel import KeyedPeriodicKernel
from whimbrel.temporal.loop_steps import PeriodicStep, Sampled, in_order
from whimbrel.temporal.periodic_kernel import PeriodicKernel


@dataclass(frozen=True, kw_only=True, eq=False)
class PeriodicLoop(Operator):
    """Selections, filters, shifts, windows and joins of periodic streams, in one pass.

        time     0    5    10   15
        in       2────4────6────       (period 5)
        out      2────3────5────       (the mean of the last 10)

    The planner replaces such steps where a stream is known to be periodic, with at most one event at a time. Events of
    one tick may also meet a stream with another period, which has one event at any time. If each key has its own
    periodic stream, a row may be compared with a few earlier rows of its key. The loop visits every point, so events of
    which only is known that they do not overlap need windows of at most 16,384 ticks.

    Parameters
    ----------
    last : PeriodicStep
        What makes the result, and so all that it is made of.
    period : int
        Ticks from one point to the next.
    lasts : int
        How long an event of the result lasts at least, in ticks: a period, or less.
    per : tuple of str
        Columns: the events of each key are a periodic stream.
    shown : tuple of str
        The steps in the user's words, the last first.
    causal : bool
        Whether no value depends on later events.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Shapes: at most one row a point. State: the input rows within reach of the next result: the longest window twice,
    and shifts; of each key, if there are keys. Source: Jayarajan et al., TiLT (ASPLOS 2023), sections 4 and 5: fusion
    by substitution, and partitions with a halo.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [0, 1, 2, 3], "x": [2, 4, 6, 8]}, time="at", name="log").assume(periodic=1)
    >>> means = log.sliding_window(2).aggregate(m=wb.mean(wb.col.x))
    >>> print(means.explain().split("runs as")[1].split("   ")[0].strip())
    periodic_loop(1: aggregate(m=mean(col.x)), sliding_window(2))
    >>> means.collect()["m"].to_pylist()
    [2.0, 3.0, 5.0, 7.0, 8.0]
    """

    late_rows_change = "lifetimes"

    last: PeriodicStep
    period: int
    lasts: int
    per: tuple[str, ...] = ()
    shown: tuple[str, ...]
    causal: bool = True
    unit: TickUnit = None

    def schema(self, *upstream: Schema) -> Schema:
        return self.last.schema

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(causal=self.causal)

    def reach(self, *inputs: Reach) -> Reach | None:
        return loop_reach(self.last, self.period, inputs)

    def kernel(self, *upstream: Schema) -> Kernel:
        if self.per:
            return KeyedPeriodicKernel(self.last, self.period, self.lasts, self.per, upstream[0], ", ".join(self.shown))
        return PeriodicKernel(self.last, self.period, self.lasts, upstream, ", ".join(self.shown))

    def show(self) -> str:
        others = [step.ticks for step in in_order(self.last) if isinstance(step, Sampled)]
        periods = " and ".join(dict.fromkeys(quote_ticks(each, self.unit) for each in (self.period, *others)))
        keys = f" per {', '.join(self.per)}" if self.per else ""
        return f"periodic_loop({periods}{keys}: {', '.join(self.shown)})"

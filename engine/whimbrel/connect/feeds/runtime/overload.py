"""Load-shedding rules of feeds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whimbrel.clock import Duration, TickUnit, duration_ticks
from whimbrel.connect.validation import check_name
from whimbrel.errors import PlanError, near_match


class Overload(ABC):
    """A load-shedding rule for a full buffer.

    Dropped rows are counted under the name of the rule.
    """

    @abstractmethod
    def keep(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Select the buffered rows to keep, in their order.

        The feed calls it when the buffer is full.
        """

    def check(self, names: Sequence[str], *, where: str) -> None:  # noqa: B027 - most rules name no column
        """Check that the columns of the rule exist."""


@dataclass(frozen=True)
class Sample(Overload):
    """Keep this fraction of the buffered rows, evenly spaced.

    >>> kept = Sample(0.25).keep(pa.record_batch({"x": list(range(8))}))
    >>> kept.column("x").to_pylist()
    [3, 7]
    """

    fraction: float

    def __post_init__(self) -> None:
        if not isinstance(self.fraction, Real) or not 0 < self.fraction < 1:
            raise PlanError(f"fraction must be between 0 and 1, got {self.fraction!r}.",
                            where=f"Sample({self.fraction!r})", hint="Use for example 0.1 to keep a tenth of the rows.")

    def keep(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        step = np.floor(np.arange(1, rows.num_rows + 1) * self.fraction)
        return rows.filter(pa.array(np.diff(step, prepend=0) > 0))

    def __str__(self) -> str:
        return f"sample {self.fraction:g}"


@dataclass(frozen=True)
class Conflate(Overload):
    """Keep the newest buffered row of each key.

    >>> kept = Conflate("k").keep(pa.record_batch({"k": ["a", "b", "a"], "x": [1, 2, 3]}))
    >>> kept.column("x").to_pylist()
    [2, 3]
    """

    key: str

    def __post_init__(self) -> None:
        check_name("key", self.key, where=f"Conflate({self.key!r})")

    def check(self, names: Sequence[str], *, where: str) -> None:
        if self.key not in names:
            raise PlanError(f"Conflate(key) must name a column, got {self.key!r}.", where=where,
                            hint=near_match(self.key, names))

    def keep(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        codes = pc.dictionary_encode(rows.column(self.key), null_encoding="encode").indices.to_numpy()
        _, last = np.unique(codes[::-1], return_index=True)
        return rows.take(pa.array(np.sort(len(codes) - 1 - last)))

    def __str__(self) -> str:
        return f"conflate by {self.key}"


@dataclass(frozen=True)
class WidenHop(Overload):
    """Compute fewer hopping windows while the buffer is full.

    All rows are kept. Results stay exact; the windows between are skipped and counted. The wider hop starts and ends
    one window size after the buffer is full or free again, since earlier rows are in windows until then. This helps if
    windows are expensive: many groups with a short hop, or a slow sink. If it is not enough, the feed applies
    backpressure. Tumbling windows and windows with several latencies do not change.

    Parameters
    ----------
    hop : str, timedelta or int (ticks)
        The wider hop: a multiple of the hop of the windows that divides their size.

    Examples
    --------
    >>> import whimbrel as wb
    >>> feed = wb.feeds.synthetic(rate=100, rows=500, speed=float("inf"), overload=WidenHop("500ms"))
    >>> windows = feed.hopping_window("1s", "100ms").aggregate(n=wb.count())
    >>> windows.collect()["n"].to_pylist()[:3]
    [10, 20, 30]
    """

    hop: Duration

    def ticks(self, unit: TickUnit) -> int:
        """The wider hop in ticks."""
        where = f"WidenHop({self.hop!r})"
        ticks = duration_ticks(self.hop, unit, where=where)
        if ticks <= 0:
            raise PlanError(f"hop must be positive, got {self.hop!r}.", where=where,
                            hint='Use for example WidenHop("10s").')
        return ticks

    def keep(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows

    def __str__(self) -> str:
        return f"widen hop to {self.hop}"

"""The load-shedding rule of a query."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

from whimbrel.clock import Duration, TickUnit, duration_ticks
from whimbrel.clock.instant import Moment
from whimbrel.connect.validation import is_whole
from whimbrel.errors import PlanError


@dataclass(frozen=True)
class Shed:
    """Limit the rows that one query of a desk reads.

    Time is divided into periods. Rows of a period beyond the limit are dropped at random, below all steps of the query.
    A row that is kept stands for as many rows as the inverse of its probability. Counts, sums and means are scaled, and
    each has its interval in ``<value>_low`` and ``<value>_high``. A period without dropped rows changes nothing.

    Parameters
    ----------
    rows : int
        About as many rows of each period are kept. It is exceeded where the rate increases suddenly.
    per : str, timedelta or int (ticks)
        Length of a period.
    time : {"event", "arrival"}
        Whether periods are of event time, or of the wall clock when rows come to the query. What the clock says differs
        in each run. With checkpoints it is recorded, and a restart keeps the same rows.
    confidence : float
        Of the intervals.
    seed : int
        Another seed keeps other rows.

    Notes
    -----
    Row i of a period is kept with probability ``rows / max(rows, i, rows of the period before)``. Choices follow from
    the seed, the rows before and their periods. A restart or a replay by event time therefore keeps the same rows.
    Estimates are unbiased but for the means, which are ratios. Intervals assume normal errors; those of counts are
    score intervals. Groups of which no row is kept are missing.
    Source: Horvitz and Thompson 1952; Tatbul et al., Load Shedding in a Data Stream Manager (VLDB 2003).

    Examples
    --------
    >>> import whimbrel as wb
    >>> packets = wb.from_arrow({"at": range(1000), "size": [40, 60] * 500}, time="at", name="packets")
    >>> desk = wb.desk(packets)
    >>> sizes = packets.tumbling_window(500).aggregate(n=wb.count(), bytes=wb.sum(wb.col.size))
    >>> desk.add("sizes", sizes, overload=wb.Shed(50, per=100))
    <query 'sizes': running>
    >>> desk.run()
    >>> desk["sizes"].table.select(["n", "n_low", "n_high"]).to_pandas().round()
         n  n_low  n_high
    0  477  439.0   518.0
    1  484  443.0   529.0
    """

    rows: int
    per: Duration
    time: Literal["event", "arrival"] = field(default="event", kw_only=True)
    confidence: float = field(default=0.95, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        where = f"Shed({self.rows!r}, per={self.per!r})"[:80]
        if not is_whole(self.rows) or self.rows < 1:
            raise PlanError(f"rows must be an integer of at least 1, got {self.rows!r}.", where=where,
                            hint='Use for example wb.Shed(10_000, per="1s").')
        if self.time not in ("event", "arrival"):
            raise PlanError(f"time must be 'event' or 'arrival', got {self.time!r}."[:200], where=where,
                            hint="Use time='arrival' for periods of the wall clock.")
        if self.time == "arrival" and is_whole(self.per):
            raise PlanError(f"per must be a duration where time='arrival', got {self.per!r}.", where=where,
                            hint='Use for example per="1s".')
        self.per_ticks("ns")  # refuses what is a duration of no unit
        if isinstance(self.confidence, bool) or not isinstance(self.confidence, float) or not 0 < self.confidence < 1:
            raise PlanError(f"confidence must be between 0 and 1, got {self.confidence!r}.", where=where,
                            hint="Use for example confidence=0.95.")
        if not is_whole(self.seed):
            raise PlanError(f"seed must be an integer, got {self.seed!r}.", where=where, hint="Use for example seed=1.")

    def per_ticks(self, unit: TickUnit) -> int:
        """The period in ticks of a unit."""
        where = f"Shed({self.rows!r}, per={self.per!r})"[:80]
        ticks = duration_ticks(self.per, unit, where=where)
        if ticks <= 0:
            raise PlanError(f"per must be positive, got {self.per!r}.", where=where, hint='Use for example per="1s".')
        return ticks

    @property
    def deviations(self) -> float:
        """Half the width of an interval, in standard deviations."""
        return NormalDist().inv_cdf(0.5 + self.confidence / 2)


@dataclass(frozen=True, slots=True)
class ShedRows:
    """What a query has shed.

    Attributes
    ----------
    kept, dropped : int
        Rows of its source.
    first, last : datetime, int or None
        Event times of the first and the last dropped row; None if there is none.
    time : {"event", "recorded", "arrival"}
        What divides rows into periods: event time, or arrival time, which is recorded for restarts or not.
    """

    kept: int
    dropped: int
    first: Moment = None
    last: Moment = None
    time: Literal["event", "recorded", "arrival"] = "event"

    def __str__(self) -> str:
        if not self.dropped:
            return ""
        of = {"event": "", "recorded": ", by recorded arrival time",
              "arrival": ", by arrival time, so that another run drops others"}[self.time]
        return f"dropped {self.dropped:,} of {self.kept + self.dropped:,} rows, from {self.first} to {self.last}{of}"

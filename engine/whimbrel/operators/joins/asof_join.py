"""As-of join: nearest row of another stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from whimbrel.batch import Schema
from whimbrel.clock import INF, Duration, TickUnit, duration_ticks, quote_ticks
from whimbrel.errors import PlanError
from whimbrel.kernels import Kernel
from whimbrel.kernels.primitives.joins import asof
from whimbrel.operators.joins.asof_kernel import AsofKernel
from whimbrel.operators.joins.join_schema import JoinedRow, On, Pairs, has_one_partner, key_pairs
from whimbrel.plan import Exact, KnownInput, LineageRequest, Operator, Ordered, Properties, earlier, fluent, later

__all__ = ["Direction", "Ties"]

Direction = Literal["backward", "forward", "nearest"]
"""Where an as-of join looks for the right start: up to the left one, from it on, or both ways."""

Ties = Literal["all", "last"]
"""The right events of one start that an as-of join matches: each of them, or the last one."""

_DIRECTIONS: dict[str, int] = {"backward": asof.BACKWARD, "forward": asof.FORWARD, "nearest": asof.NEAREST}


@dataclass(frozen=True, kw_only=True, eq=False)
class AsofJoin(Operator):
    """Join each left event with the right event of the nearest start.

        time     0    5    10   15
        left        a──────            (a: [3, 10), b: [9, 12))
                          b──
        right    c                     (c: [0, 1), d: [7, 8))
                        d
        out         ac─────            (backward: the latest right start up to the left one)
                          bd─

    Parameters
    ----------
    on : tuple of (str, str)
        Pairs of key columns, left and right. None: all events have one key.
    tolerance : int, optional
        Most ticks between the two starts. Required for forward and nearest: a left event waits this long for a right
        one.
    direction : {"backward", "forward", "nearest"}
        An equal start is a match in every direction, unless `strict` is set. Of two equally near starts the earlier one
        matches.
    strict : bool
        Whether an equal start does not match.
    ties : {"all", "last"}
        Whether each right event of the nearest start gives a row, or only the one that arrived last.
    nulls_equal : bool
        Whether a null key matches a null key. Without it a null key matches nothing.
    keeps_rows : bool
        Each left event is known to have at most one match.
    suffix : str
        Added to right columns whose name the left has too.
    unit : {"s", "ms", "us", "ns"} or None
        What a tick is, for printing.

    Notes
    -----
    Left lifetimes are kept; right ends do not matter. A left event without a match gets nulls. Right events of one
    key with the same start have no order, so each of them gives a row. With ``ties="last"`` the last of them in the
    order of arrival matches, as in Polars and pandas. Shapes: one row per left event,
    but for ``ties="all"``; left columns, then right columns without the keys of the same name. State: per key the
    latest right event within the tolerance, and the rows of one side that are later than the watermark of the other.
    Source: a clip and a join in Trill (VLDB 2015), section 3.3; named as in Polars and pandas.

    Examples
    --------
    >>> import whimbrel as wb
    >>> trades = wb.from_arrow({"at": [3, 9], "n": [100, 200]}, time="at").select("n")
    >>> quotes = wb.from_arrow({"at": [0, 7], "price": [1.5, 2.5]}, time="at").select("price")
    >>> trades.asof_join(quotes).collect().to_pylist()
    [{'start': 3, 'end': 4, 'n': 100, 'price': 1.5}, {'start': 9, 'end': 10, 'n': 200, 'price': 2.5}]

    The price before that of the same instant:

    >>> quotes.asof_join(quotes, strict=True).collect().to_pylist()[1]
    {'start': 7, 'end': 8, 'price': 2.5, 'price_right': 1.5}
    """

    arity: ClassVar[int] = 2

    on: Pairs = ()
    tolerance: int | None = None
    direction: Direction = "backward"
    strict: bool = False
    ties: Ties = "all"
    nulls_equal: bool = False
    keeps_rows: bool = False
    suffix: str = "_right"
    unit: TickUnit = None

    @property
    def row(self) -> JoinedRow:
        """Layout of the result rows."""
        return JoinedRow(self.on, self.suffix)

    def schema(self, *upstream: Schema) -> Schema:
        left, right = upstream
        self.row.check(left, right, where=self.show())
        return self.row.schema(left, right, where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        left, backward = upstream[0], self.direction == "backward"
        single = self.keeps_rows or self.ties == "last" or has_one_partner(upstream[1], self.on,
                                                                            nulls_equal=self.nulls_equal)
        time_grid = left.time_grid
        if time_grid is not None and not backward and (self.tolerance is None or self.tolerance >= time_grid.hop):
            time_grid = None  # it looks further ahead than to the next point
        return replace(left, intervals_only=True, causal=all(known.causal for known in upstream) and backward,
                       time_grid=time_grid, starts_only=False, packed=True, apart=left.no_period() if single else None,
                       sampling=left.sampling if single else None)

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        return known[0].ordered

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        left, right = upstream
        return self.row.needs(wanted, None, left, right)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by in self.on else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        left, right = inputs
        mine, theirs = self.row.sides(wanted, left.schema, right.schema, (0,))
        first = wanted.start
        if not wanted.starting:
            mine = mine.exactly(Exact.STARTS)
            first = earlier(first, INF if left.longest is None else left.longest - 1)
        tolerance = INF if self.tolerance is None else self.tolerance
        start = first if self.direction == "forward" else earlier(first, tolerance)
        end = wanted.end if self.direction == "backward" else later(wanted.end, tolerance)
        found = theirs.starts(start, end)
        if self.direction == "backward" and self.row.pinned(theirs):
            found = replace(found, latest_before=first if self.strict else later(first, 1))
        return mine, found

    def kernel(self, *upstream: Schema) -> Kernel:
        left, right = upstream
        tolerance = INF if self.tolerance is None else self.tolerance
        return AsofKernel(self.row, (left, right), self.schema(left, right), _DIRECTIONS[self.direction], tolerance,
                          strict=self.strict, last=self.ties == "last", nulls_equal=self.nulls_equal)

    def show(self) -> str:
        parts = [self.row.show()] if self.on else []
        parts += [f"tolerance={quote_ticks(self.tolerance, self.unit)}"] if self.tolerance is not None else []
        parts += [f"direction={self.direction!r}"] if self.direction != "backward" else []
        parts += ["strict=True"] if self.strict else []
        parts += [f"ties={self.ties!r}"] if self.ties != "all" else []
        parts += ["nulls_equal=True"] if self.nulls_equal else []
        return f"asof_join({', '.join(parts)})"


@fluent
def asof_join(schema: Schema, right: Schema, *, on: On | None = None, tolerance: Duration | None = None,
              direction: Direction = "backward", strict: bool = False, ties: Ties = "all",
              nulls_equal: bool = False, suffix: str = "_right") -> AsofJoin:
    """Join each event with the latest right event up to its start.

    See :class:`whimbrel.operators.AsofJoin`.

    Parameters
    ----------
    right : Stream
    on : str, list of str, or dict, optional
        Key columns; a dict pairs left names with right ones.
    tolerance : str, timedelta or int, optional
        Most time between the two starts.
    direction : {"backward", "forward", "nearest"}
        The latest right start up to the left one, the first from it on, or the nearer of the two.
    strict : bool
        True: an equal start does not match, so that an event gets the earlier value. Default: it matches.
    ties : {"all", "last"}
        Several right events of the nearest start give a row each, or only the one that arrived last does.
    nulls_equal : bool
        True: a null key matches a null key. By default it matches nothing, as in SQL.
    suffix : str
        Added to right columns whose name the left has too.
    """
    if direction not in _DIRECTIONS:
        raise PlanError(f"direction must be 'backward', 'forward' or 'nearest', got {direction!r}.",
                        where=f"asof_join(direction={direction!r})", hint="Use 'backward' for the latest value so far.")
    if ties not in ("all", "last"):
        raise PlanError(f"ties must be 'all' or 'last', got {ties!r}.", where=f"asof_join(ties={ties!r})",
                        hint="Use 'last' for at most one row per left event.")
    ticks = None if tolerance is None else duration_ticks(tolerance, schema.unit, where="asof_join(tolerance=...)")
    if ticks is None and direction != "backward":
        raise PlanError(f"An as-of join with direction={direction!r} needs a tolerance.",
                        where=f"asof_join(direction={direction!r})",
                        hint="Add the longest distance of a match, such as tolerance=10.")
    if ticks is not None and ticks < 0:
        raise PlanError(f"tolerance must not be negative, got {tolerance!r}.",
                        where=f"asof_join(tolerance={tolerance!r})",
                        hint="Use a positive tolerance, or leave it out for no limit.")
    if ticks == INF:  # the engine's own sign for no limit
        raise PlanError(f"tolerance must be below 2**63 - 1 ticks, got {tolerance!r}.",
                        where=f"asof_join(tolerance={tolerance!r})", hint="Use a shorter tolerance.")
    return AsofJoin(on=() if on is None else key_pairs(on, "asof_join"), tolerance=ticks, direction=direction,
                    strict=strict, ties=ties, nulls_equal=nulls_equal, suffix=suffix, unit=schema.unit)

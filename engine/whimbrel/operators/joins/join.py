"""Temporal join: equal keys and overlapping lifetimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from whimbrel.batch import Schema
from whimbrel.errors import PlanError
from whimbrel.expr import Condition, Expr
from whimbrel.kernels import Kernel
from whimbrel.operators.joins.join_kernel import JoinKernel
from whimbrel.operators.joins.join_schema import JoinedRow, On, Pairs, has_one_partner, key_pairs, traced
from whimbrel.plan import (
    HIDDEN,
    Exact,
    KnownInput,
    LineageRequest,
    Operator,
    Ordered,
    Properties,
    Reach,
    Sampling,
    fluent,
)

__all__ = ["How"]

How = Literal["inner", "left", "right", "full"]
"""Which events without a partner a join keeps."""

_LONELY_SIDES: dict[str, tuple[int, ...]] = {"inner": (), "left": (0,), "right": (1,), "full": (0, 1)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Join(Operator):
    """Temporal join: pair events with equal keys and overlapping lifetimes.

        time     0    5    10   15
        left     a─────────
        right         b─────────
        out           ab───            ([max(starts), min(ends)))
        left     a────ab───            (how="left": a alone before, with nulls for b)
        full     a────ab───b────       (how="full")

    Parameters
    ----------
    on : tuple of (str, str)
        Pairs of key columns, left and right. None: every pair that overlaps.
    how : {"inner", "left", "right", "full"}
        In addition to the pairs: the parts of lifetimes, left, right or both, in which an event has no partner. The
        columns of the other side are null there, except keys of the same name on both sides, which keep their value.
    condition : Expr, optional
        Join condition over the columns of the joined row. Null counts as false.
    suffix : str
        Added to right columns whose name the left has too.
    nulls_equal : bool
        Whether a null key matches a null key. Without it a null key matches nothing.
    keeps_rows : bool
        Each left event gives one row with its lifetime, as the caller knows: it lasts one tick, and has at most one
        partner.

    Notes
    -----
    Shapes: one row per overlapping pair, one per part without a partner; left columns, then right columns without the
    keys of the same name. An outer join gives an event without a partner when the watermark has passed the instant,
    and the end of that part when it is known. State: the active events of both sides.
    Source: Trill (VLDB 2015), section 3.3.

    Examples
    --------
    >>> import whimbrel as wb
    >>> left = wb.from_arrow({"at": [0], "until": [10], "k": ["a"], "x": [1]}, time="at", end="until")
    >>> right = wb.from_arrow({"at": [5], "until": [15], "k": ["a"], "y": [2]}, time="at", end="until")
    >>> left.select("k", "x").join(right.select("k", "y"), on="k").collect().to_pylist()
    [{'start': 5, 'end': 10, 'k': 'a', 'x': 1, 'y': 2}]
    >>> for row in left.select("k", "x").join(right.select("k", "y"), on="k", how="full").collect().to_pylist():
    ...     print(row)
    {'start': 0, 'end': 5, 'k': 'a', 'x': 1, 'y': None}
    {'start': 5, 'end': 10, 'k': 'a', 'x': 1, 'y': 2}
    {'start': 10, 'end': 15, 'k': 'a', 'x': None, 'y': 2}

    Without keys, every event pairs with every other that is active at the same time:

    >>> for row in left.select("x").cross_join(right.select("y"), how="left").collect().to_pylist():
    ...     print(row)
    {'start': 0, 'end': 5, 'x': 1, 'y': None}
    {'start': 5, 'end': 10, 'x': 1, 'y': 2}
    """

    arity: ClassVar[int] = 2

    on: Pairs
    how: How = "inner"
    condition: Expr | None = None
    suffix: str = "_right"
    nulls_equal: bool = False
    keeps_rows: bool = False

    @property
    def row(self) -> JoinedRow:
        """Layout of the result rows."""
        return JoinedRow(self.on, self.suffix)

    def schema(self, *upstream: Schema) -> Schema:
        left, right = upstream
        self.row.check_condition(self.condition, left, right, where=self.show())
        return self.row.schema(left, right, where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        points = [known.points for known in upstream]
        kept = {"inner": any(points), "left": points[0], "right": points[1], "full": all(points)}  # what is in both
        return Properties(intervals_only=self.how == "inner", causal=all(known.causal for known in upstream),
                          points=kept[self.how], sampling=self._sampling(*upstream))

    def _sampling(self, left: Properties, right: Properties) -> Sampling | None:
        """Left points stay samples where each has at most one partner: then it gives one row, or none."""
        if self.keeps_rows:
            return left.sampling
        if not has_one_partner(right, self.on, nulls_equal=self.nulls_equal) or not (left.points or left.duration == 1):
            return None
        return {"left": left.sampling, "inner": left.with_missing_samples()}.get(self.how)

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        """Columns of sides whose events last one tick, with which pairs start."""
        kept = {"inner": (0, 1), "left": (0,), "right": (1,), "full": ()}[self.how]
        left, right = schemas
        return tuple(replace(each, name=name) for side, old, name in self.row.columns(left, right)
                     if side in kept and known[side].instants for each in known[side].ordered if each.name == old)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        left, right = upstream
        return self.row.needs(wanted, self.condition, left, right)

    def reach(self, *inputs: Reach) -> Reach | None:
        both = inputs[0].combined(inputs[1])
        return None if both is None else both.of_changes()

    def partitioned(self, *by: str) -> str | None:
        if by not in self.on:
            return None
        return by[0] if self.how in ("inner", "left") else HIDDEN  # a right row alone has no left column

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        left, right = inputs
        kept = {"inner": (0, 1), "left": (0,), "right": (1,), "full": ()}[self.how]
        sides = self.row.sides(wanted, left.schema, right.schema, kept)
        if self.how != "inner":
            longest = None if left.longest is None or right.longest is None else max(left.longest, right.longest)
            return tuple(side.of_changes(longest) for side in sides)
        exact = Exact.LIFETIMES if wanted.starting else wanted.exact
        return tuple(side.during(wanted.start, wanted.end, exact) for side in sides)

    def kernel(self, *upstream: Schema) -> Kernel:
        left, right = upstream
        return JoinKernel(self.row, (left, right), self.schema(left, right), self.condition, _LONELY_SIDES[self.how],
                          nulls_equal=self.nulls_equal)

    def show(self) -> str:
        parts = [self.row.show()] if self.on else []
        parts += [f"how={self.how!r}"] if self.how != "inner" else []
        parts += [f"where={self.condition.show()}"] if self.condition is not None else []
        parts += ["nulls_equal=True"] if self.nulls_equal else []
        return f"{'join' if self.on else 'cross_join'}({', '.join(parts)})"


@fluent
def join(schema: Schema, right: Schema, on: On, *, how: How = "inner", where: Condition | None = None,
         suffix: str = "_right", nulls_equal: bool = False) -> Join:
    """Pair events with equal keys and overlapping lifetimes.

    See :class:`whimbrel.operators.Join`.

    Parameters
    ----------
    right : Stream
    on : str, list of str, or dict
        Key columns; a dict pairs left names with right ones.
    how : {"inner", "left", "right", "full"}
        "left", "right" and "full" keep the parts of lifetimes without a partner, with nulls for the other side.
    where : Expr or callable, optional
        Join condition over the columns of the joined row, such as ``col.price < col.price_right``.
    suffix : str
        Added to right columns whose name the left has too.
    nulls_equal : bool
        True: a null key matches a null key. By default it matches nothing, as in SQL.
    """
    _check_how(how, "join")
    return Join(on=key_pairs(on, "join"), how=how, condition=traced(where, "join"), suffix=suffix,
                nulls_equal=nulls_equal)


@fluent
def cross_join(schema: Schema, right: Schema, *, how: How = "inner", where: Condition | None = None,
               suffix: str = "_right") -> Join:
    """Pair all events that are active at the same time. See :class:`whimbrel.operators.Join`.

    Parameters
    ----------
    right : Stream
    how : {"inner", "left", "right", "full"}
        "left", "right" and "full" keep the parts of lifetimes without a partner, with nulls for the other side.
    where : Expr or callable, optional
        Only pairs for which this is true, over the columns of the joined row.
    suffix : str
        Added to right columns whose name the left has too.
    """
    _check_how(how, "cross_join")
    return Join(on=(), how=how, condition=traced(where, "cross_join"), suffix=suffix)


def _check_how(how: str, method: str) -> None:
    if how not in _LONELY_SIDES:
        raise PlanError(f"how must be 'inner', 'left', 'right' or 'full', got {how!r}.", where=f"{method}(how={how!r})",
                        hint='Use "full" to keep both sides.' if how in ("outer", "full outer") else
                        "Use semi_join or anti_join to keep the events of one side.")

"""Semi-join and anti-join of lifetimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from whimbrel.batch import Batch, Field, Schema
from whimbrel.expr import Condition, Expr, columns_of
from whimbrel.kernels import Kernel
from whimbrel.operators.joins.coverage import Coverage
from whimbrel.operators.joins.join_schema import JoinedRow, On, Pairs, key_pairs, traced
from whimbrel.operators.joins.pair_matcher import PairMatcher, coverings
from whimbrel.plan import KnownInput, LineageRequest, Operator, Ordered, Properties, Reach, fluent


@dataclass(frozen=True, kw_only=True, eq=False)
class SemiJoin(Operator):
    """Keep left lifetimes with, or without, a matching right event.

    The operator keeps the parts of lifetimes for which that is so.

        time     0    5    10   15
        left     a───────────────
        right         b────            (two that meet leave no gap)
                           c──
        semi          a──────          (semi_join)
        anti     a────       a────     (anti_join)

    Parameters
    ----------
    on : tuple of (str, str)
        Pairs of key columns, left and right.
    anti : bool
        Whether the parts without a match are kept.
    condition : Expr, optional
        Join condition over the columns of the joined row. Null counts as false.
    suffix : str
        In the condition, added to right columns whose name the left has too.
    nulls_equal : bool
        Whether a null key matches a null key. Without it a null key matches nothing.

    Notes
    -----
    Shapes: one row per part; left columns only. The number of right events that match makes no difference. A part comes
    out when the watermark has passed its start, and its end when that is known. State: the active events of both sides.
    Source: Trill (VLDB 2015), section 3.3 (WhereExists, WhereNotExists).

    Examples
    --------
    >>> import whimbrel as wb
    >>> left = wb.from_arrow({"at": [0], "until": [16], "k": ["a"]}, time="at", end="until").select("k")
    >>> right = wb.from_arrow({"at": [5, 10], "until": [10, 12], "k": ["a", "a"]}, time="at", end="until")
    >>> left.semi_join(right, on="k").collect().to_pylist()
    [{'start': 5, 'end': 12, 'k': 'a'}]
    >>> left.anti_join(right, on="k").collect().to_pylist()
    [{'start': 0, 'end': 5, 'k': 'a'}, {'start': 12, 'end': 16, 'k': 'a'}]
    """

    arity: ClassVar[int] = 2

    on: Pairs
    anti: bool
    condition: Expr | None = None
    suffix: str = "_right"
    nulls_equal: bool = False

    @property
    def row(self) -> JoinedRow:
        """Layout of the rows for the condition."""
        return JoinedRow(self.on, self.suffix)

    def schema(self, *upstream: Schema) -> Schema:
        left, right = upstream
        self.row.check(left, right, where=self.show())
        self.row.check_condition(self.condition, left, right, where=self.show())
        return left

    def properties(self, *upstream: Properties) -> Properties:
        return Properties(intervals_only=False, causal=all(known.causal for known in upstream),
                          apart=upstream[0].no_period(), points=upstream[0].points,
                          sampling=upstream[0].with_missing_samples() if upstream[0].points else None)

    def ordered_columns(self, schemas: Sequence[Schema], known: Sequence[Properties]) -> Ordered:
        return known[0].ordered if known[0].instants else ()

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        left, right = upstream
        mine, theirs = self.row.needs(frozenset(), self.condition, left, right)
        return wanted | mine, theirs

    def reach(self, *inputs: Reach) -> Reach | None:
        both = inputs[0].combined(inputs[1])
        return None if both is None else both.of_changes()

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by in self.on else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        left, right = inputs
        sides = self.row.sides(wanted, left.schema, right.schema, (0,))
        return tuple(side.of_changes(left.longest) for side in sides)

    def kernel(self, *upstream: Schema) -> Kernel:
        left, right = upstream
        return SemiJoinKernel(self, left, right)

    def show(self) -> str:
        condition = f", where={self.condition.show()}" if self.condition is not None else ""
        nulls = ", nulls_equal=True" if self.nulls_equal else ""
        return f"{'anti_join' if self.anti else 'semi_join'}({self.row.show()}{condition}{nulls})"


@fluent
def semi_join(schema: Schema, right: Schema, on: On, *, where: Condition | None = None,
              suffix: str = "_right", nulls_equal: bool = False) -> SemiJoin:
    """Keep the parts of events with a matching right event. See :class:`whimbrel.operators.SemiJoin`.

    Parameters
    ----------
    right : Stream
    on : str, list of str, or dict
        Key columns; a dict pairs left names with right ones.
    where : Expr or callable, optional
        Join condition over left and right columns, such as ``col.price < col.price_right``.
    suffix : str
        In `where`, added to right columns whose name the left has too.
    nulls_equal : bool
        True: a null key matches a null key. By default it matches nothing, as in SQL.
    """
    return SemiJoin(on=key_pairs(on, "semi_join"), anti=False, condition=traced(where, "semi_join"), suffix=suffix,
                    nulls_equal=nulls_equal)


@fluent
def anti_join(schema: Schema, right: Schema, on: On, *, where: Condition | None = None,
              suffix: str = "_right", nulls_equal: bool = False) -> SemiJoin:
    """Keep the parts of events without a matching right event. See :class:`whimbrel.operators.SemiJoin`.

    Parameters
    ----------
    right : Stream
    on : str, list of str, or dict
        Key columns; a dict pairs left names with right ones.
    where : Expr or callable, optional
        Join condition over left and right columns, such as ``col.price < col.price_right``.
    suffix : str
        In `where`, added to right columns whose name the left has too.
    nulls_equal : bool
        True: a null key matches a null key. By default it matches nothing, as in SQL.
    """
    return SemiJoin(on=key_pairs(on, "anti_join"), anti=True, condition=traced(where, "anti_join"), suffix=suffix,
                    nulls_equal=nulls_equal)


class SemiJoinKernel(Kernel):
    """Turn pairs into coverings of left rows, and give their covered parts as the watermark advances."""

    def __init__(self, join: SemiJoin, left: Schema, right: Schema) -> None:
        self.schema = left
        asked = frozenset[str]() if join.condition is None else columns_of(join.condition)
        columns = [(side, old, name) for side, old, name in join.row.columns(left, right) if name in asked]
        fields = [Field(name, (left, right)[side].type_of(old)) for side, old, name in columns]
        theirs = [old for side, old, _ in columns if side == 1]
        self.pairing = PairMatcher(join.on, (left, right), (left.names, theirs), left.with_fields(fields),
                               [(side, old) for side, old, _ in columns], join.condition, nulls_equal=join.nulls_equal)
        self.coverage = Coverage(covered=not join.anti)

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        self.pairing.sides[port].push(batch)
        return []

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        pairing = self.pairing
        self.watermark = pairing.tell(watermark, port)
        covered = coverings(list(pairing.step(self.watermark)), 0)
        parts = self.coverage.step(pairing.base[0], pairing.new[0], *covered, self.watermark)
        out = [pieces.batch(self.schema, pairing.sides[0].active.take(pieces.slot).columns) for pieces in parts]
        alive, _ = pairing.forget(self.watermark)
        if alive is not None:
            self.coverage.stay(alive)
        return out

    @property
    def buffered_rows(self) -> int:
        return self.pairing.buffered_rows

"""Sort the conditions of a join.

They are keys, equal times, bounds between times, and others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from sqlglot import exp

from whimbrel.clock import duration_ticks
from whimbrel.expr import Expr, type_of
from whimbrel.sql.binder import Binder
from whimbrel.sql.epochs import Epoch, epoch_of, follows_time, new_time
from whimbrel.sql.intervals import duration
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scalars import scalar
from whimbrel.sql.scope import NameScope, matching

_FLIPPED = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}


@dataclass
class JoinConditions:
    """The conditions of a join by what they are.

    Parameters
    ----------
    keys : list of (str, str)
        Equal columns, left and right.
    epochs : list of (Epoch, Epoch)
        Equal functions of the two event times, of one size.
    equal_epochs : list
        Their conditions.
    lower, upper : int, optional
        Bounds of the right event time less the left one, in ticks.
    others : list
        Conditions over the joined row.
    clocks : list of (node, Expr, Expr)
        Equal values of the sides that can both be event times: the condition, and the values.
    nulls_equal : bool
        Whether the keys are compared with IS NOT DISTINCT FROM.
    """

    keys: list[tuple[str, str]] = field(default_factory=list)
    epochs: list[tuple[Epoch, Epoch]] = field(default_factory=list)
    equal_epochs: list[Any] = field(default_factory=list)
    lower: int | None = None
    upper: int | None = None
    others: list[Any] = field(default_factory=list)
    clocks: list[tuple[Any, Expr, Expr]] = field(default_factory=list)
    nulls_equal: bool = False

    def add_epoch(self, first: Epoch, second: Epoch, node: Any) -> None:
        """Add an equality of epochs; rows meet in the finest one, and the others are conditions."""
        if self.epochs and first.size_ticks > self.epochs[0][0].size_ticks:
            self.others.append(node)
            return
        if self.epochs and first.size_ticks < self.epochs[0][0].size_ticks:
            self.others += self.equal_epochs
            self.epochs, self.equal_epochs = [], []
        self.epochs.append((first, second))
        self.equal_epochs.append(node)

    def bound(self, lower: int | None, upper: int | None) -> None:
        """Add a bound between the times."""
        if lower is not None:
            self.lower = lower if self.lower is None else max(self.lower, lower)
        if upper is not None:
            self.upper = upper if self.upper is None else min(self.upper, upper)


def sort_conditions(conditions: list[Any], left: SqlRelation, right: SqlRelation, binder: Binder) -> JoinConditions:
    """The conditions of ON or WHERE by what they are."""
    found = JoinConditions()
    for node in conditions:
        while isinstance(node, exp.Paren):
            node = node.this  # noqa: PLW2901 - the condition in the parentheses
        if isinstance(node, exp.EQ):
            _equality(node, found, left, right, binder)
        elif isinstance(node, exp.Between):
            for bound, kind in ((node.args["low"], exp.GTE), (node.args["high"], exp.LTE)):
                part = kind(this=node.this.copy(), expression=bound.copy())
                if not _between(part, found, left, right, binder):
                    found.others.append(part)
        elif not (type(node) in _FLIPPED and _between(node, found, left, right, binder)):
            found.others.append(node)
    if not found.keys:
        _null_keys(found, left, right, binder)
    return found


def _null_keys(found: JoinConditions, left: SqlRelation, right: SqlRelation, binder: Binder) -> None:
    """Take columns that are not distinct as keys."""
    keys = JoinConditions()
    for node in found.others:
        if isinstance(node, exp.NullSafeEQ) and isinstance(node.this, exp.Column) and isinstance(
                node.expression, exp.Column):
            _equality(node, keys, left, right, binder)
        else:
            keys.others.append(node)
    if keys.keys and not keys.epochs and (keys.lower, keys.upper) == (None, None):
        found.keys, found.others, found.nulls_equal = keys.keys, keys.others, True


def same_columns(names: list[str], left: SqlRelation, right: SqlRelation, join: Any, binder: Binder, *,
                 asof: bool) -> JoinConditions:
    """The columns of USING; the last one of an as-of join is the time."""
    found = JoinConditions()
    for number, name in enumerate(names, 1):
        sides = []
        for relation in (left, right):
            columns = {each.column for each in matching(relation, name)}
            if len(columns) != 1:
                raise binder.text.error(f"USING needs one column {name!r} on each side.", join, "Use ON.")
            sides.append(columns.pop())
        mine, theirs = sides
        divisors = left.times.get(mine), right.times.get(theirs)
        if asof and number == len(names):
            if divisors == (1, 1):
                found.bound(None, 0)
        elif divisors[0] is not None and divisors[0] == divisors[1]:
            column = exp.Column(this=exp.to_identifier(name, quoted=True))
            epoch = Epoch(column, divisors[0], divisors[0], divisor=divisors[0])
            found.add_epoch(epoch, epoch, exp.true())
        if not (asof and number == len(names)):
            found.keys.append((mine, theirs))
    return found


def side_of(node: Any, left: SqlRelation, right: SqlRelation, binder: Binder) -> int | None:
    """The side that has all columns of an expression: 0 or 1; None for both or none."""
    sides = set()
    for column in node.find_all(exp.Column):
        mine, theirs = (matching(each, column.name, column.table) for each in (left, right))
        if mine and theirs:
            raise binder.text.error(f"The column {column.name!r} is ambiguous: {mine[0].source}.{mine[0].name}, "
                                    f"{theirs[0].source}.{theirs[0].name}.", column,
                                    f"Write {mine[0].source}.{mine[0].name}.")
        if mine or theirs:
            sides.add(0 if mine else 1)
    return sides.pop() if len(sides) == 1 else None


def _equality(node: Any, found: JoinConditions, left: SqlRelation, right: SqlRelation, binder: Binder) -> None:
    mine, theirs = node.this, node.expression
    sides = [side_of(each, left, right, binder) for each in (mine, theirs)]
    if sides == [1, 0]:
        mine, theirs = theirs, mine
    elif sides != [0, 1]:
        found.others.append(node)
        return
    first, second = epoch_of(mine, NameScope(binder, left)), epoch_of(theirs, NameScope(binder, right))
    if first is not None and second is not None and first.size_ticks == second.size_ticks and (
            first.divisor == second.divisor != 0):
        found.add_epoch(first, second, node)
        return
    if _between(node, found, left, right, binder):
        return
    _clocks(node, mine, theirs, found, left, right, binder)
    if isinstance(mine, exp.Column) and isinstance(theirs, exp.Column):
        column, other = NameScope(binder, left).find(mine).column, NameScope(binder, right).find(theirs).column
        if left.stream.schema.type_of(column) == right.stream.schema.type_of(other):
            found.keys.append((column, other))
            return
    found.others.append(node)


def _clocks(node: Any, mine: Any, theirs: Any, found: JoinConditions, left: SqlRelation, right: SqlRelation,
            binder: Binder) -> None:
    """Note an equality of values that can both be event times: rows then meet by it if by no other time."""
    sides = (mine, left), (theirs, right)
    if not all(relation.lives == "instant" and follows_time(each, relation) for each, relation in sides):
        return
    values = [scalar(each, NameScope(binder, relation)) for each, relation in sides]
    first, second = (new_time(value, relation) for value, (_, relation) in zip(values, sides, strict=True))
    counted = [pa.types.is_timestamp(type_of(value, relation.stream.schema))
               for value, (_, relation) in zip(values, sides, strict=True)]
    if first is not None and second is not None and first.falls == second.falls and counted[0] == counted[1]:
        found.clocks.append((node, values[0], values[1]))


def _between(node: Any, found: JoinConditions, left: SqlRelation, right: SqlRelation, binder: Binder) -> bool:
    """Take a comparison of the two event times, with durations added; False if it is none."""
    sides: list[Any] = [_time(each, left, right, binder) for each in (node.this, node.expression)]
    if sides[0] is None or sides[1] is None or {sides[0][0], sides[1][0]} != {0, 1}:
        return False
    kind = type(node)
    (side, first), (_, second) = sides
    if side == 0:  # left + first <kind> right + second
        kind, first, second = _FLIPPED.get(kind, kind), second, first
    distance = second - first  # right - left <kind> distance
    match kind:
        case exp.GTE:
            found.bound(distance, None)
        case exp.GT:
            found.bound(distance + 1, None)
        case exp.LTE:
            found.bound(None, distance)
        case exp.LT:
            found.bound(None, distance - 1)
        case _:
            found.bound(distance, distance)
    return True


def _time(node: Any, left: SqlRelation, right: SqlRelation, binder: Binder) -> tuple[int, int] | None:
    """The side of an event time, and the ticks that are added to it."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Add | exp.Sub):
        inner = _time(node.this, left, right, binder)
        ticks = _ticks(node.expression, left, binder)
        if inner is None or ticks is None:
            return None
        return inner[0], inner[1] + (ticks if isinstance(node, exp.Add) else -ticks)
    if not isinstance(node, exp.Column):
        return None
    side = side_of(node, left, right, binder)
    if side is None:
        return None
    relation = (left, right)[side]
    column = matching(relation, node.name, node.table)[0].column
    if relation.ended and relation.fixed and relation.bounds.get(column) == "start":
        return side, -relation.size_ticks
    return (side, 0) if relation.times.get(column) == 1 else None


def _ticks(node: Any, relation: SqlRelation, binder: Binder) -> int | None:
    unit = relation.stream.schema.unit
    if isinstance(node, exp.Interval) and unit is not None:
        return int(duration_ticks(duration(node, binder.text), unit))
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit() and unit is None:
        return int(node.this)
    return None


def conjuncts(node: Any) -> list[Any]:
    """The conditions that AND connects."""
    while isinstance(node, exp.Paren) and isinstance(node.this, exp.And | exp.Paren):
        node = node.this
    if not isinstance(node, exp.And):
        return [node]
    found, todo = [], [node]
    while todo:
        part = todo.pop()
        if isinstance(part, exp.And):
            todo += [part.expression, part.this]
        else:
            found.append(part)
    return found

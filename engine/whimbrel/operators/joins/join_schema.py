"""Schema of joined rows: keys, conditions and column names."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from whimbrel.batch import Field, Schema
from whimbrel.errors import ExpressionError, PlanError, SchemaError
from whimbrel.expr import Binary, Col, Condition, Expr, check_key, columns_of, lifetime_of, substitute, trace, type_of
from whimbrel.plan import LineageRequest, Properties

__all__ = ["On"]

On = str | Sequence[str] | Mapping[str, str]
"""Key columns: names on both sides, or left names with right ones."""

Pairs = tuple[tuple[str, str], ...]


def has_one_partner(right: Properties, on: Pairs, *, nulls_equal: bool) -> bool:
    """Whether at most one right event with the keys of a left one is active at any time, or starts then."""
    if right.apart is None or not right.apart.per <= {theirs for _, theirs in on}:
        return False
    return right.apart.declared or not (nulls_equal and on)  # else events without a key were not checked


@dataclass(frozen=True)
class JoinedRow:
    """Left columns, then right columns without the keys of the same name.

    Parameters
    ----------
    on : tuple of (str, str)
        Pairs of key columns, left and right.
    suffix : str
        Added to right columns whose name the left has too.
    """

    on: Pairs
    suffix: str = "_right"

    def columns(self, left: Schema, right: Schema) -> list[tuple[int, str, str]]:
        """Of each column: the side it comes from (0 or 1), its name there, its name here."""
        keys = {theirs for mine, theirs in self.on if mine == theirs}
        return [(0, name, name) for name in left.names] + [
            (1, name, name + self.suffix if name in left else name) for name in right.names if name not in keys]

    def schema(self, left: Schema, right: Schema, *, where: str) -> Schema:
        """Its type, once the two sides are known to fit."""
        if not isinstance(self.suffix, str):
            raise PlanError(f"suffix must be a string, got {self.suffix!r}.", where=where,
                            hint='Use for example suffix="_right".')
        self.check(left, right, where=where)
        sides = left, right
        fields = [Field(name, sides[side].type_of(old)) for side, old, name in self.columns(left, right)]
        return left.with_fields(fields, where=where)

    def check(self, left: Schema, right: Schema, *, where: str) -> None:
        """Refuse keys of different types; how the streams count time was looked at before they met."""
        for mine, theirs in self.on:
            types = left.type_of(mine, where=where), right.type_of(theirs, where=where)
            if types[0] != types[1]:
                raise SchemaError(f"Keys must have one type, got {mine!r} ({types[0]}) and {theirs!r} ({types[1]}).",
                                  where=where,
                                  hint="Cast one side: .with_columns(name=col.name.cast(...)).")
            check_key(mine, types[0], where)

    def check_condition(self, condition: Expr | None, left: Schema, right: Schema, *, where: str) -> None:
        """Refuse a condition that is not about this row, or not true or false."""
        if condition is None:
            return
        if lifetime_of(condition):
            raise ExpressionError("A join condition cannot use the lifetime because each side has its own.",
                                  where=where,
                                  hint="Put it into a column before the join: with_columns(began=wb.start_time()).")
        type_ = type_of(condition, self.schema(left, right, where=where), where=where)
        if not pa.types.is_boolean(type_):
            raise ExpressionError(f"A condition must be boolean, got {condition.show()} of type {type_}.", where=where,
                                  hint="Compare it with a value, such as `> 0`.")

    def needs(self, wanted: frozenset[str], condition: Expr | None, left: Schema,
              right: Schema) -> tuple[frozenset[str], frozenset[str]]:
        """Columns of each side that these columns, the keys and the condition are made of."""
        if condition is not None:
            wanted |= columns_of(condition)
        mine, theirs = ({mine for mine, _ in self.on}, {theirs for _, theirs in self.on})
        for side, old, name in self.columns(left, right):
            if side == 0 and name in wanted:
                mine.add(old)
            if side == 1 and name in wanted:
                theirs.add(old)
            if side == 1 and name != old:  # a left column that decides how a right one is called cannot be pruned away
                mine.add(old)
        return frozenset(mine), frozenset(theirs)

    def sides(self, wanted: LineageRequest, left: Schema, right: Schema,
              chosen: Collection[int]) -> tuple[LineageRequest, LineageRequest]:
        """The same of each side, under those conditions that concern it.

        Parameters
        ----------
        chosen : collection of int
            The sides of which rows may be left out, though the other side then looks as if it had no partner.
        """
        names: tuple[dict[str, Expr], ...] = ({}, {})
        for side, old, name in self.columns(left, right):
            names[side][name] = Col(old)
        mine, theirs = {mine: Col(theirs) for mine, theirs in self.on}, {theirs: Col(mine) for mine, theirs in self.on}
        alike = {mine for mine, theirs in self.on if mine == theirs}
        found: tuple[list[Expr], ...] = ([], [])
        for each in wanted.same().where:
            read = columns_of(each)
            if read <= alike:
                for where in found:
                    where.append(each)
                continue
            for side in (side for side in chosen if read <= names[side].keys()):
                here = substitute(each, names[side])
                found[side].append(here)
                if columns_of(here) <= (keys := (mine, theirs)[side]).keys():
                    found[1 - side].append(substitute(here, keys))
        first, second = (replace(wanted.same(), where=tuple(where), result=False) for where in found)
        return first, second

    def pinned(self, right: LineageRequest) -> bool:
        """Whether the wanted rows of the right side all have the same key."""
        equal_names = {each.left.name for each in right.where
                if isinstance(each, Binary) and each.op == "==" and isinstance(each.left, Col)}
        return all(theirs in equal_names for _, theirs in self.on)

    def show(self) -> str:
        """The keys, as the user wrote them."""
        if all(mine == theirs for mine, theirs in self.on):
            return f"on=[{', '.join(repr(mine) for mine, _ in self.on)}]"
        return f"on={{{', '.join(f'{mine!r}: {theirs!r}' for mine, theirs in self.on)}}}"


def key_pairs(on: On, method: str) -> Pairs:
    """Pairs of key columns from what users write."""
    names = [on] if isinstance(on, str) else on
    if not isinstance(names, Mapping | Iterable | None):
        raise PlanError(f"on must name one or several columns, got {on!r}.", where=f"{method}(on=...)",
                        hint='Use on="origin", on=["origin", "day"] or on={"left": "right"}.')
    pairs = tuple(names.items() if isinstance(names, Mapping) else ((name, name) for name in names or ()))
    if not pairs:
        raise PlanError(f"{method}() needs a key.", where=f"{method}(on=...)", hint='Add the key, such as on="origin".')
    return pairs


def traced(where: Condition | None, method: str) -> Expr | None:
    """The condition of a join from what users write."""
    return None if where is None else trace(where, where=f"{method}(where=...)")

"""UNION, INTERSECT and EXCEPT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from sqlglot import exp

from whimbrel.batch import Field, Schema
from whimbrel.errors import WhimbrelError
from whimbrel.expr import Col, Lit, lit, type_of, when
from whimbrel.plan.lookahead import early_input
from whimbrel.sql.binder import Binder
from whimbrel.sql.epochs import rounded
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import Lives, SqlColumn, SqlRelation, rounded_columns
from whimbrel.sql.scope import matching
from whimbrel.stream import Stream

Query = Callable[[Any, Binder], SqlRelation]

COPY: Final = "_copy"
"""The column of the number of a copy."""


def set_operation(node: Any, binder: Binder, query: Query) -> SqlRelation:
    """Rows of two queries together, in common, or of the first without the second."""
    for key, given in node.args.items():
        if given and key not in ("this", "expression", "distinct", "with_", "by_name"):
            what, hint = refusal("clause", clause=key.upper())
            raise binder.text.error(what, node, hint)
    left, right = query(node.this, binder), query(node.expression, binder)
    every = not node.args.get("distinct")
    name = type(node).__name__.upper()
    if node.args.get("by_name"):
        left, right = by_name(left, right, node, binder)
    left, right = of_common_types([left, in_order_of(left, right, node, binder, name)], node, binder)
    if isinstance(node, exp.Union):
        both = united([left, right], node, binder)
        return both if every else distinct(both, node, binder)
    names = list(left.stream.schema.names)
    left, right = _together(left, right, node, binder)
    first, second = (copies(left, node, binder), copies(right, node, binder)) if every else (
        distinct(left, node, binder), right)
    on = [*names, COPY] if every else names
    keep = first.stream.semi_join if isinstance(node, exp.Intersect) else first.stream.anti_join
    early = early_input((first.stream.node.properties, second.stream.node.properties)) is not None
    options: dict[str, Any] = {"allow_lookahead": True} if early and left.needs_epoch and right.needs_epoch else {}
    kept = binder.step(node, lambda: keep(second.stream, on, nulls_equal=True, **options))
    return left.after(binder.step(node, lambda: kept.select(*names)) if every else kept)


def copies(relation: SqlRelation, node: Any, binder: Binder) -> SqlRelation:
    """The rows with a number for each copy of a row, from 1."""
    relation = _complete(relation, node, binder)
    stream = binder.step(node, lambda: relation.stream.group_by(*relation.stream.schema.names).top_k(
        2**63 - 1, lit(1), ties=False, rank=COPY))
    return relation.after(stream.ungroup())


def distinct(relation: SqlRelation, node: Any, binder: Binder) -> SqlRelation:
    """Each row once, if the rows are known to be complete."""
    relation = _complete(relation, node, binder)
    return relation.after(binder.step(node, relation.stream.distinct))


def _complete(relation: SqlRelation, node: Any, binder: Binder) -> SqlRelation:
    """The rows in the windows in which equal rows are together: those of the finest epoch among their columns."""
    if not relation.needs_epoch:
        return relation
    epochs = _epochs(relation)
    if not epochs:
        what, hint = refusal("endless distinct")
        raise binder.text.error(what, node, hint)
    return _in_windows(relation, *min(epochs.values(), key=lambda epoch: epoch[0]), node, binder)


def _together(left: SqlRelation, right: SqlRelation, node: Any, binder: Binder) -> tuple[SqlRelation, SqlRelation]:
    """Both relations in windows in which equal rows of them are together."""
    if not (left.needs_epoch and right.needs_epoch):
        return left, right
    others = _epochs(right)
    common = [epoch for name, epoch in _epochs(left).items() if others.get(name) == epoch]
    if not common:
        what, hint = refusal("sets without epoch", name=type(node).__name__.upper())
        raise binder.text.error(what, node, hint)
    ticks, size = min(common, key=lambda epoch: epoch[0])
    return _in_windows(left, ticks, size, node, binder), _in_windows(right, ticks, size, node, binder)


def _epochs(relation: SqlRelation) -> dict[str, tuple[int, Any]]:
    """Columns that are the same in an epoch, with its size in ticks and as a duration."""
    shown = {each.column for each in relation.columns}
    found: dict[str, tuple[int, Any]] = {
        name: (divisor, divisor) for name, divisor in relation.times.items() if name in shown}
    if relation.lives == "instant":
        for name, size in rounded_columns(relation.stream.node).items():
            column = exp.Column(this=exp.to_identifier(name, quoted=True))
            if name in shown and (epoch := rounded(column, size, relation)) is not None:
                found.setdefault(name, (epoch.size_ticks, size))
    return found


def _in_windows(relation: SqlRelation, ticks: int, size: Any, node: Any, binder: Binder) -> SqlRelation:
    """The rows in the windows of an epoch, unless they live in such already."""
    if ticks <= max(relation.step_ticks, 1):
        return relation
    stream = binder.step(node, lambda: relation.stream.tumbling_window(size))
    times = {name: divisor for name, divisor in relation.times.items() if divisor % ticks == 0}
    times |= {name: 1 for name, (own, _) in _epochs(relation).items() if own == ticks and name not in times}
    return replace(relation, stream=stream, times=times, lives="window", step_ticks=ticks, bounds={})


def in_order_of(left: SqlRelation, right: SqlRelation, node: Any, binder: Binder, name: str) -> SqlRelation:
    """The second relation with the names of the first, by position."""
    names, others = left.stream.schema.names, right.stream.schema.names
    if len(names) != len(others):
        raise binder.text.error(f"{name} needs as many columns on both sides, got {len(names)} and {len(others)}.",
                                node, "Select the same columns on both sides.")
    stream = right.stream
    if list(names) != list(others):
        columns: dict[str, Any] = {mine: Col(theirs) for mine, theirs in zip(names, others, strict=True)}
        stream = binder.step(node, lambda: right.stream.select(**columns))
    times = {mine: right.times[theirs] for mine, theirs in zip(names, others, strict=True) if theirs in right.times}
    return replace(right, stream=stream, columns=left.columns, times=times, bounds={})


def by_name(left: SqlRelation, right: SqlRelation, node: Any, binder: Binder) -> tuple[SqlRelation, SqlRelation]:
    """Both relations with the columns of either, in one order; a column that one of them lacks is null there."""
    pairs: list[tuple[SqlColumn | None, SqlColumn | None]] = [
        (column, next(iter(matching(right, column.name)), None)) for column in left.columns]
    pairs += [(None, column) for column in right.columns if not matching(left, column.name)]
    named = [each for mine, theirs in pairs if (each := mine or theirs) is not None]
    taken = [each.column for each in named]
    if len(set(taken)) != len(taken):
        raise binder.text.error("BY NAME needs columns of different names.", node, "Name the columns with AS.")
    sides = []
    for place, side, other in ((0, left, right), (1, right, left)):
        columns: dict[str, Any] = {}
        for name, pair in zip(taken, pairs, strict=True):
            mine, theirs = pair[place], pair[1 - place]
            type_ = None if theirs is None else other.stream.schema.type_of(theirs.column)
            columns[name] = Col(mine.column) if mine is not None else Lit(None).cast(type_)
        shown = tuple(replace(each, source="") for each in named)
        times = {name: side.times[own.column] for name, pair in zip(taken, pairs, strict=True)
                 if (own := pair[place]) is not None and own.column in side.times}
        stream = binder.step(node, partial(side.stream.select, **columns))
        sides.append(replace(side, stream=stream, columns=shown, times=times, bounds={}))
    return sides[0], sides[1]


def of_common_types(relations: list[SqlRelation], node: Any, binder: Binder) -> list[SqlRelation]:
    """The relations with each column in the type that holds the values of all."""
    schemas = [each.stream.schema for each in relations]
    wanted = {}
    for name in schemas[0].names:
        type_ = schemas[0].type_of(name)
        for other in schemas[1:]:
            both = Schema((Field("a", type_), Field("b", other.type_of(name))))
            try:
                type_ = type_of(when(Lit(True)).then(Col("a")).otherwise(Col("b")), both)
            except WhimbrelError:
                raise binder.text.error(f"Columns {name!r} have types without a common one: {type_} and "
                                        f"{other.type_of(name)}.", node, "Cast one side.") from None
        wanted[name] = type_
    return [each.after(binder.step(node, partial(_cast, each.stream, wanted))) for each in relations]


def _cast(stream: Stream, wanted: dict[str, Any]) -> Stream:
    columns = {name: Col(name) if stream.schema.type_of(name) == type_ else Col(name).cast(type_)
               for name, type_ in wanted.items()}
    same = all(isinstance(each, Col) for each in columns.values())
    return stream if same else stream.select(**columns)


def united(relations: list[SqlRelation], node: Any, binder: Binder) -> SqlRelation:
    """All rows of several relations of the same columns."""
    first, *others = relations
    stream = binder.step(node, lambda: first.stream.union(*(each.stream for each in others)))
    times = {name: divisor for name, divisor in first.times.items()
             if all(each.times.get(name) == divisor for each in others)}
    lives = {each.lives for each in relations}
    steps = {each.step_ticks for each in relations}
    together: Lives = first.lives if len(lives) == 1 and len(steps) == 1 else (
        "instant" if "instant" in lives else "lasting")
    return SqlRelation(stream, first.columns, times, together, first.step_ticks)

"""Bind GROUP BY, aggregates and HAVING."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from whimbrel import stream as wb
from whimbrel.aggregates import Count, CountDistinct
from whimbrel.expr import Col, Expr, end_time, start_time, substitute
from whimbrel.expr.columns import columns_of, lifetime_of
from whimbrel.sql.aggregates import aggregate, has_aggregate, is_aggregate
from whimbrel.sql.binder import Binder
from whimbrel.sql.closing_when import OPTIONS, check_closing, check_running, closing_of
from whimbrel.sql.distinct_aggregates import DistinctAggregates
from whimbrel.sql.epochs import Epoch, NewTime, epoch_of, follows_time, new_time, why_not
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import Bound, Lives, SqlColumn, SqlRelation, epoch_hint, reduced_parts
from whimbrel.sql.scalars import condition, scalar
from whimbrel.sql.scope import NameScope, matching
from whimbrel.sql.select_list import Item, implied_name
from whimbrel.sql.values import ONE_ROW
from whimbrel.sql.window_rows import begin_of_partial
from whimbrel.stream import Stream

_OPTIONS = ("emit", "fill", "flush")
"""Results of ``aggregate`` cannot have the names of its options."""


@dataclass(frozen=True)
class Key:
    """One key of GROUP BY.

    Parameters
    ----------
    node : sqlglot expression
    name : str
        Its column in the result of the aggregate.
    alias : str
        The name that GROUP BY or SELECT gives it, or "".
    kind : {"plain", "epoch", "start", "end"}
        An ordinary value, an epoch, or a bound of the window of FROM.
    epoch : Epoch, optional
    value : Expr, optional
        Of a plain key: its expression over the rows.
    ordered : bool
        Whether it follows event time.
    """

    node: Any
    name: str
    alias: str
    kind: str
    epoch: Epoch | None = None
    value: Expr | None = None
    ordered: bool = False


def grouped(node: Any, items: list[Item], relation: SqlRelation, binder: Binder) -> SqlRelation:
    """The relation of a SELECT with groups or aggregates."""
    scope = NameScope(binder, relation)
    keys = _keys(node, items, relation, binder)
    epochs = [key.epoch for key in keys if key.epoch is not None]
    closing = closing_of(node)
    check_closing(node, closing, bool(epochs), relation, binder)
    window = _window(node, keys, epochs, relation, binder)
    stream = relation.stream if closing is not None else binder.step(node, lambda: window(relation.stream))
    plain = {key.name: key.value for key in keys if key.kind == "plain" and key.value is not None}
    types = {key.name: scope.type_of(key.value, key.node) for key in keys if key.value is not None}
    different = DistinctAggregates(scope, types, closing is None and (
        relation.window is None or relation.window.kind == "tumble"))
    inside = replace(scope, special=_special(keys, items, scope, relation, different), types=types)
    results = {item.name: scalar(item.node, inside) for item in items}
    named = replace(inside, special=_special(keys, items, scope, relation, different, aliases=True))
    bare = relation.table and not keys
    having = None if node.args.get("having") is None else condition(node.args["having"].this, named)
    check_running(node, [*results.values(), *([] if having is None else [having])], closing, binder)
    plan = _Results({*plain, *(_OPTIONS if closing is None else OPTIONS)}, different.found)
    final = {name: plan.add(name, expr) for name, expr in results.items()}
    kept = None if having is None else plan.hidden(having)
    other = relation.window is not None and relation.window.kind != "tumble"
    if not plan.measures and (bare or different.found or other):
        plan.measure(wb.count())
    if closing is None:
        made = _aggregated(stream, plain, plan, relation, node, binder, bare=bare)
        stream = different.joined(made, stream, plain, node)
    else:
        size = min(epochs, key=lambda epoch: epoch.size_ticks).size
        if not plan.measures:
            plan.measure(wb.count())
        measures: dict[str, Any] = dict(plan.measures)
        until = condition(closing, named)
        by = _grouped_by(stream, plain, node, binder)
        stream = binder.step(node, lambda: by.epoch_aggregate(size, until, **measures))
    if kept is not None:
        condition_ = kept
        stream = binder.step(node.args["having"], lambda: stream.where(condition_))
    if list(final) != list(stream.schema.names) or any(
            not isinstance(expr, Col) or expr.name != name for name, expr in final.items()):
        before = stream
        stream = binder.step(node, lambda: before.select(**final))
    columns = tuple(SqlColumn(item.label, "", item.name) for item in items)
    clock = _new_clock(keys, epochs, relation)
    lives, step = _lives(relation, epochs, clock)
    size = relation.size_ticks if relation.window is None else relation.window.size_ticks
    times = _times(items, keys, scope) if clock is None else _new_times(items, clock, relation)
    fixed = relation.fixed if relation.window is None else relation.window.fixed
    return SqlRelation(stream, columns, times, lives, step, **_windows(items, keys, relation), size_ticks=size,
                       fixed=fixed)


def _windows(items: list[Item], keys: list[Key], relation: SqlRelation) -> dict[str, Any]:
    """What is known of the windows of results."""
    window = relation.window
    if window is not None:
        relation = replace(relation, alone=window.alone, window_keys=frozenset(window.keys))
    shown = [(item.name, key) for item in items for key in keys if same_expression(item.node, key.node, relation)]
    known = relation.windows_of({name: key.value.name for name, key in shown if isinstance(key.value, Col)})
    known["bounds"] |= {name: bound for name, key in shown if (bound := _bound(key, relation)) is not None}
    return known


def _bound(key: Key, relation: SqlRelation) -> Bound | None:
    """Which bound of a window a key is."""
    if key.kind in ("start", "end"):
        return "start" if key.kind == "start" else "end"
    return relation.bounds.get(key.value.name) if isinstance(key.value, Col) else None


def _lives(relation: SqlRelation, epochs: list[Epoch], clock: tuple[Key, NewTime] | None) -> tuple[Lives, int]:
    """How long results hold."""
    if clock is not None:
        return "instant", 0
    window = relation.window
    if window is not None:
        return ("window", window.step_ticks) if window.kind in ("tumble", "hop") else ("lasting", 0)
    if epochs:
        return "window", min(epoch.size_ticks for epoch in epochs)
    return relation.lives, relation.step_ticks


def _keys(node: Any, items: list[Item], relation: SqlRelation, binder: Binder) -> list[Key]:
    """The keys that GROUP BY names."""
    scope = NameScope(binder, relation)
    keys: list[Key] = []
    taken: set[str] = set()
    for each, alias in key_nodes(node, items, items, relation, binder):
        kind, epoch, value = _kind(each, relation, scope)
        selected = next((item.name for item in items if same_expression(item.node, each, relation)), "")
        name = alias or (each.name if isinstance(each, exp.Column) else selected or implied_name(each) or "key")
        while name in taken:
            name = f"{name}_2"
        taken.add(name)
        keys.append(Key(each, name, alias, kind, epoch, value, kind != "plain" or epoch_of(each, scope) is not None))
    if relation.in_one_window(key.value.name for key in keys if isinstance(key.value, Col)):
        keys = [replace(key, ordered=key.ordered or _bound(key, relation) is not None) for key in keys]
    return keys


def key_nodes(node: Any, plain: list[Item], items: list[Item], relation: SqlRelation,
              binder: Binder) -> list[tuple[Any, str]]:
    """The expressions of the keys with their aliases; `plain` are the values that ALL may mean."""
    group = node.args.get("group")
    if group is None:
        return []
    if group.args.get("all"):
        scope = NameScope(binder, relation)
        return [(item.node, item.label if item.named else "") for item in plain
                if not has_aggregate(item.node, scope) and not isinstance(item.node, exp.Literal)]
    return [named_key(each, items, relation, binder) for each in group.expressions]


def named_key(node: Any, items: list[Item], relation: SqlRelation, binder: Binder) -> tuple[Any, str]:
    """The expression of a key, which may be an alias or the position of a column, and its name."""
    if isinstance(node, exp.Tuple):
        raise binder.text.error("A key of GROUP BY must be one value.", node, "Leave the parentheses out.")
    if isinstance(node, exp.Alias):
        return node.this, node.alias
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
        if not 1 <= int(node.this) <= len(items):
            raise binder.text.error(f"GROUP BY {node.this} names no column.", node, f"Use 1 to {len(items)}.")
        item = items[int(node.this) - 1]
        return item.node, item.label if item.named else ""
    if isinstance(node, exp.Column) and not node.table and not matching(relation, node.name):
        alike = [item for item in items if item.named and item.label.lower() == node.name.lower()]
        if alike:
            return alike[0].node, alike[0].label
    return node, ""


def _kind(node: Any, relation: SqlRelation, scope: NameScope) -> tuple[str, Epoch | None, Expr | None]:
    """What a key is, and its epoch or its expression."""
    window = relation.window
    bound = node.name if isinstance(node, exp.Column) else ""
    if window is not None and bound in ("window_start", "window_end") and not matching(relation, bound, node.table):
        return ("start" if bound == "window_start" else "end"), None, None
    epoch = epoch_of(node, scope) if relation.needs_epoch and window is None else None
    if epoch is not None and epoch.size_ticks > relation.step_ticks:
        return "epoch", epoch, None
    return "plain", None, scalar(node, scope)


def _window(node: Any, keys: list[Key], epochs: list[Epoch], relation: SqlRelation,
            binder: Binder) -> Callable[[Stream], Stream]:
    """What makes groups complete: the window of FROM, an epoch, or lifetimes that rows have."""
    window = relation.window
    if window is not None:
        if not any(key.kind in ("start", "end") for key in keys):
            what, hint = refusal("window not grouped")
            raise binder.text.error(what, node.args.get("group") or node, hint)
        if window.kind == "session":
            return _sessions(keys, relation, binder, node)
        return window.apply
    if epochs:
        finest = min(epochs, key=lambda epoch: epoch.size_ticks)
        for epoch in epochs:
            if epoch.size_ticks % finest.size_ticks:
                raise binder.text.error("One epoch must be a multiple of the other.", epoch.column,
                                        "Group by one of them.")
        size = finest.size
        return lambda stream: stream.tumbling_window(size)
    if relation.needs_epoch and not any(key.ordered for key in keys):
        found = _new_clock(keys, epochs, relation)
        if found is not None:
            return lambda stream: stream.retime(found[1].start)
        _refuse_endless(node, keys, relation, binder)
    return lambda stream: stream


def _new_clock(keys: list[Key], epochs: list[Epoch], relation: SqlRelation) -> tuple[Key, NewTime] | None:
    """The key that is the new event time, and how; None where groups need none."""
    if relation.window is not None or epochs or not relation.needs_epoch or any(key.ordered for key in keys):
        return None
    return next(((key, time) for key in keys
                 if key.value is not None and (time := new_time(key.value, relation)) is not None), None)


def _sessions(keys: list[Key], relation: SqlRelation, binder: Binder, node: Any) -> Callable[[Stream], Stream]:
    """Sessions per key: those of PARTITION BY are among the keys of GROUP BY."""
    window = relation.window
    assert window is not None
    missing = [name for name in window.keys
               if not any(isinstance(key.value, Col) and key.value.name == name for key in keys)]
    if missing:
        raise binder.text.error(f"{missing[0]!r} partitions the sessions, so it must be a key.", node.args["group"],
                                f"Add {missing[0]} to GROUP BY.")
    columns = {key.name: key.value for key in keys
               if isinstance(key.value, Col) and key.value.name in window.keys}
    plain = window.apply

    def apply(stream: Stream) -> Stream:
        if not columns:
            return plain(stream)
        made = plain(stream.group_by(*(value.name for value in columns.values() if isinstance(value, Col))))
        return made.ungroup()

    return apply


def _refuse_endless(node: Any, keys: list[Key], relation: SqlRelation, binder: Binder) -> None:
    """Say why no group of a stream is ever complete."""
    group = node.args.get("group")
    hint = epoch_hint(relation)
    if (bound := next((found for key in keys if (found := _bound(key, relation)) is not None), None)) is not None:
        what, hint_ = refusal("one bound", bound=f"window_{bound}",
                              other=f"window_{'end' if bound == 'start' else 'start'}")
        raise binder.text.error(what, group, hint_)
    if group is None:
        first = next((part for part in node.find_all(exp.AggFunc)), node)
        what, hint_ = refusal("endless aggregate", **hint)
        raise binder.text.error(what, first, hint_)
    lost = next((key for key in keys if follows_time(key.node, relation)), None)
    if lost is not None:
        start, stop = _text_span(lost.node)
        shown = lost.node.sql() if isinstance(lost.node, exp.Extract | exp.Cast) else binder.text.text[start:stop]
        reason = why_not(lost.value, relation) if lost.value is not None else "repeats"
        what, hint_ = refusal("lost order", text=shown, reason=reason, **hint)
        raise binder.text.error(what, lost.node, hint_)
    what, hint_ = refusal("group without epoch", **hint)
    raise binder.text.error(what, group, hint_)


def _text_span(node: Any) -> tuple[int, int]:
    """The characters of an expression, with the parenthesis that closes a call."""
    from whimbrel.sql.positions import span

    start, stop = span(node)
    return start, stop + (1 if isinstance(node, exp.Func) else 0)


def _bare(node: Any) -> Any:
    """An expression without the parentheses around it."""
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def same_expression(one: Any, other: Any, relation: SqlRelation) -> bool:
    """Whether two nodes are the same expression."""
    if isinstance(one, exp.Column) and isinstance(other, exp.Column):
        mine, theirs = (matching(relation, each.name, each.table) for each in (one, other))
        return (mine == theirs and bool(mine)) or (not mine and not theirs and one.name.lower() == other.name.lower())
    return bool(_bare(one) == _bare(other))


def _special(keys: list[Key], items: list[Item], scope: NameScope, relation: SqlRelation,
             different: DistinctAggregates, *, aliases: bool = False) -> Callable[[Any], Expr | None]:
    """What nodes mean after a GROUP BY: keys, aggregates, and nothing else of single rows."""
    kind = None if relation.window is None else relation.window.kind

    finest = min((key.epoch.size_ticks for key in keys if key.epoch is not None), default=0)

    def special(node: Any) -> Expr | None:
        for key in keys:
            named = isinstance(node, exp.Column) and not node.table and node.name == key.alias and key.alias
            if named or same_expression(node, key.node, relation):
                return _key_value(key, kind, relation, finest)
        if is_aggregate(node, scope):
            column = different.column(node)
            return aggregate(node, scope) if column is None else column
        if isinstance(node, exp.Column) and not node.name.startswith("$"):
            found = matching(relation, node.name, node.table)
            if aliases and not node.table and not found:
                for item in items:
                    if item.label.lower() == node.name.lower() and item.named:
                        return scalar(item.node, replace(scope, special=special))
            if not found:
                scope.find(node)
            raise scope.binder.text.error(f"{node.name!r} must stand in GROUP BY or in an aggregate.", node,
                                          f"Use any_value({node.name}), or add it to GROUP BY.")
        return None

    return special


def _key_value(key: Key, window: str | None, relation: SqlRelation, finest: int) -> Expr:
    """A key after the aggregate."""
    if key.kind == "plain":
        return Col(key.name)
    if key.kind == "epoch":
        assert key.epoch is not None
        return _of_bound(key.epoch, finest)
    if window in ("tumble", "hop"):
        return wb.window_start() if key.kind == "start" else wb.window_end()
    if window == "cumulate" and key.kind == "start":
        assert relation.window is not None
        return begin_of_partial(relation.window, relation)
    return start_time() if key.kind == "start" else end_time()


def _of_bound(epoch: Epoch, finest: int) -> Expr:
    """The value of an epoch from the start of the finest one; where this is itself, one that rounds down is it."""
    return wb.window_start() if epoch.divisor == 1 and epoch.size_ticks == finest else epoch.value(wb.window_start())


class _Results:
    """The measures of an aggregate, and the columns that are computed from them."""

    def __init__(self, reserved: set[str], apart: Mapping[str, Any]) -> None:
        self.reserved = reserved
        self.apart = apart
        self.measures: dict[str, Expr] = {}

    def add(self, name: str, expr: Expr) -> Expr:
        """A result: as a measure of its name if it is one, else computed from measures."""
        if any(True for _ in reduced_parts(expr)) and not lifetime_of(expr) and (
                name not in self.reserved and not columns_of(expr) & self.apart.keys()):
            self.measures[name] = expr
            return Col(name)
        return self.hidden(expr)

    def hidden(self, expr: Expr) -> Expr:
        """An expression over measures, which are added where they are missing."""
        if (whole := self._known(expr)) is not None:
            return whole
        return substitute(expr, {part.show(): self.measure(part) for part in reduced_parts(expr)})

    def _known(self, expr: Expr) -> Expr | None:
        """The measure that has this expression."""
        if not any(True for _ in reduced_parts(expr)):
            return None
        return next((Col(name) for name, made in self.measures.items() if made.show() == expr.show()), None)

    def measure(self, part: Expr) -> Expr:
        """The column of one aggregate."""
        if (known := self._known(part)) is not None:
            return known
        name = f"_{len(self.measures) + 1}"
        self.measures[name] = part
        return Col(name)


def _aggregated(stream: Stream, plain: Mapping[str, Expr], plan: _Results, relation: SqlRelation, node: Any,
                binder: Binder, *, bare: bool) -> Stream:
    """The stream with its groups reduced."""
    options: dict[str, Any] = {"emit": "close"} if relation.window is not None and relation.window.kind == "hop" else {}
    measures: dict[str, Any] = dict(plan.measures)
    columns = [value.name if isinstance(value, Col) and value.name == name else None for name, value in plain.items()]
    if not measures:
        shown = dict(plain.items())
        if not shown:
            return binder.step(node, lambda: stream.aggregate(_1=wb.count()))
        if all(columns):
            return binder.step(node, lambda: stream.distinct(*(each for each in columns if each)))
        return binder.step(node, lambda: stream.select(**shown).distinct())
    if bare:
        return _one_row(stream, measures, node, binder)
    by = _grouped_by(stream, plain, node, binder)
    grid = by.node.properties.grid
    if binder.flushes_evenly and grid is not None and grid.tumbling and not grid.shared:
        options["flush"] = "even"
    made = binder.step(node, lambda: by.aggregate(**options, **measures))
    if relation.window is not None and relation.window.kind == "cumulate":
        step, offset = relation.window.step_ticks, relation.window.offset % relation.window.step_ticks or None
        return binder.step(node, lambda: made.chop(step, offset=offset))
    return made


def _grouped_by(stream: Stream, plain: Mapping[str, Expr], node: Any, binder: Binder) -> Stream:
    """The stream with its keys."""
    if not plain:
        return stream
    columns = [name for name, value in plain.items() if isinstance(value, Col) and value.name == name]
    if len(columns) == len(plain):
        return binder.step(node, lambda: stream.group_by(*columns))
    return binder.step(node, lambda: stream.group_by(**plain))


def _one_row(stream: Stream, measures: Mapping[str, Any], node: Any, binder: Binder) -> Stream:
    """The aggregate of a whole table: one row, of an empty table too."""
    import pyarrow as pa

    parts = {part.show(): part for expr in measures.values() for part in reduced_parts(expr)}
    names = {show: f"_{number}" for number, show in enumerate(parts, 1)}
    reduced: dict[str, Any] = {names[show]: part for show, part in parts.items()}
    one = binder.table(pa.table({"_one": [1]}), ONE_ROW)
    rows = binder.step(node, lambda: one.cross_join(stream.aggregate(**reduced), how="left"))
    values: dict[str, Expr] = {
        show: Col(names[show]).fill_null(0) if isinstance(part, Count | CountDistinct) else Col(names[show])
        for show, part in parts.items()}
    return binder.step(node, lambda: rows.select(**{name: substitute(expr, values)
                                                    for name, expr in measures.items()}))


def _new_times(items: list[Item], clock: tuple[Key, NewTime], relation: SqlRelation) -> dict[str, int]:
    """Columns of the result that are its new event time; a key that falls is the negative one."""
    key, time = clock
    if time.falls:
        return {}
    return {item.name: 1 for item in items if same_expression(item.node, key.node, relation)
            or (isinstance(item.node, exp.Column) and item.node.name == key.alias and key.alias)}


def _times(items: list[Item], keys: list[Key], scope: NameScope) -> dict[str, int]:
    """Columns of the result that follow event time."""
    times: dict[str, int] = {}
    for item in items:
        for key in keys:
            if not (same_expression(item.node, key.node, scope.relation)
                    or (isinstance(item.node, exp.Column) and item.node.name == key.alias and key.alias)):
                continue
            if key.epoch is not None and key.epoch.divisor:
                times[item.name] = key.epoch.divisor
            elif key.kind == "start" and scope.relation.window is not None and scope.relation.window.kind == "tumble":
                times[item.name] = 1
            elif isinstance(key.value, Col) and key.value.name in scope.relation.times:
                times[item.name] = scope.relation.times[key.value.name]
    return times

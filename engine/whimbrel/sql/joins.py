"""Bind joins by keys and by conditions on times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal

from sqlglot import exp

from whimbrel.errors import SqlError
from whimbrel.expr import Col, Expr, lit
from whimbrel.plan.lookahead import early_input
from whimbrel.sql.binder import Binder
from whimbrel.sql.epochs import retimed
from whimbrel.sql.join_conditions import JoinConditions, conjuncts, same_columns, sort_conditions
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import Lives, SqlColumn, SqlRelation
from whimbrel.sql.scalars import condition
from whimbrel.sql.scope import NameScope, matching
from whimbrel.sql.window_rows import at_ends, with_bounds
from whimbrel.stream import Stream

How = Literal["inner", "left", "right", "full"]

_HOW: Final[dict[str, How]] = {"": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}
_UNITS: Final = {"s": "SECOND", "ms": "MILLISECOND", "us": "MICROSECOND", "ns": "NANOSECOND"}
_KNOWN: Final = ("this", "on", "using", "side", "kind", "method")


@dataclass(frozen=True)
class JoinKind:
    """What a join keeps.

    Parameters
    ----------
    how : {"inner", "left", "right", "full"}
    exists : {"", "SEMI", "ANTI"}
    asof, using, comma : bool
    """

    how: How = "inner"
    exists: str = ""
    asof: bool = False
    using: bool = False
    comma: bool = False


def joined(left: SqlRelation, right: SqlRelation, join: Any, where: list[Any],
           binder: Binder) -> tuple[SqlRelation, list[Any]]:
    """Two relations as one, and the conditions of WHERE that are left."""
    join = _natural(join, left, right, binder)
    kind = _kind(join, binder)
    left, right = with_bounds(left, join, binder), with_bounds(right, join, binder)
    conditions, where = _conditions(join, kind, left, right, where, binder)
    if kind.using:
        found = same_columns([each.name for each in join.args["using"]], left, right, join, binder, asof=kind.asof)
    else:
        found = sort_conditions(conditions, left, right, binder)
    version = join.this.args.get("version")
    if version is not None:
        _check_version(version, left, binder)
        return asof(left, right, found, replace(kind, asof=True), join, binder), where
    if kind.asof:
        if found.upper not in (0, -1):
            raise binder.text.error("ASOF JOIN needs one comparison of event times.", join,
                                    "Add a.ts >= b.ts, with the ordered attributes of both.")
        return asof(left, right, found, kind, join, binder), where
    try:
        return related(left, right, found, kind, join, binder), where
    except SqlError:
        other = None if kind.using else _by_more(left, right, conditions, where, kind, join, binder)
        if other is None:
            raise
        return other


def _by_more(left: SqlRelation, right: SqlRelation, conditions: list[Any], where: list[Any], kind: JoinKind, join: Any,
             binder: Binder) -> tuple[SqlRelation, list[Any]] | None:
    """The join by bounds between times that stand in WHERE too, or are those of windows; None without bounds.

    Rows of windows meet others when their windows end, so that no row sees a result too early.
    """
    if kind.how != "inner" or kind.exists:
        return None
    more, rest = _of_both(where, left, right)
    for sides in ((left, right), (at_ends(left, join, binder), at_ends(right, join, binder))):
        found = sort_conditions([*conditions, *more], *sides, binder)
        if found.lower is not None and found.upper is not None and sides[0].lives == sides[1].lives == "instant":
            return related(*sides, found, kind, join, binder), rest
    return None


def _natural(join: Any, left: SqlRelation, right: SqlRelation, binder: Binder) -> Any:
    """The join with USING in place of NATURAL."""
    if str(join.args.get("method") or "").upper() != "NATURAL":
        return join
    names = list(dict.fromkeys(each.name for each in left.columns if matching(right, each.name)))
    if not names:
        raise binder.text.error("NATURAL JOIN needs columns of the same names.", join, "Use ON, or CROSS JOIN.")
    made = join.copy()
    made.set("method", None)
    made.set("using", [exp.to_identifier(name, quoted=True) for name in names])
    return made


def _kind(join: Any, binder: Binder) -> JoinKind:
    for key, given in join.args.items():
        if given and key not in _KNOWN:
            raise binder.text.error(f"{key.upper()} of a join is not part of the language.", join, "Leave it out.")
    method, side, kind = (str(join.args.get(key) or "").upper() for key in ("method", "side", "kind"))
    if method not in ("", "ASOF"):
        raise binder.text.error(f"{method} JOIN is not part of the language.", join, "Name the columns with USING.")
    exists = kind if kind in ("SEMI", "ANTI") else ""
    if kind not in ("", "INNER", "OUTER", "CROSS", "SEMI", "ANTI") or (exists and side not in ("", "LEFT")):
        raise binder.text.error(f"{side} {kind} JOIN is not part of the language.".strip(), join,
                                "Use JOIN, LEFT JOIN, RIGHT JOIN, FULL JOIN, SEMI JOIN or ANTI JOIN.")
    bare = join.args.get("on") is None and not join.args.get("using")
    comma = bool(join.meta.get("comma"))
    if bare and kind != "CROSS" and not comma:
        raise binder.text.error("This join has no condition.", join, "Add ON or USING, or use CROSS JOIN.")
    return JoinKind("inner" if exists else _HOW[side], exists, method == "ASOF", bool(join.args.get("using")), comma)


def _conditions(join: Any, kind: JoinKind, left: SqlRelation, right: SqlRelation, where: list[Any],
                binder: Binder) -> tuple[list[Any], list[Any]]:
    """The conditions of the join; those of a comma join stand in WHERE."""
    if join.args.get("on") is not None:
        return conjuncts(join.args["on"]), where
    if kind.using:
        return [], where
    return _of_both(where, left, right)


def _of_both(where: list[Any], left: SqlRelation, right: SqlRelation) -> tuple[list[Any], list[Any]]:
    """Conditions on columns of both sides, and the others."""
    taken: list[Any] = []
    rest: list[Any] = []
    for each in where:
        both = each.find(exp.Query) is None and {
            _maybe_side(column, left, right) for column in each.find_all(exp.Column)} == {0, 1}
        (taken if both else rest).append(each)
    return taken, rest


def _maybe_side(column: Any, left: SqlRelation, right: SqlRelation) -> int | None:
    mine, theirs = (matching(each, column.name, column.table) for each in (left, right))
    return None if bool(mine) == bool(theirs) else (0 if mine else 1)


def _named(column: SqlColumn) -> Any:
    return exp.Column(this=exp.to_identifier(column.name, quoted=True),
                      table=exp.to_identifier(column.source, quoted=True) if column.source else None)


def _check_version(version: Any, left: SqlRelation, binder: Binder) -> None:
    """FOR SYSTEM_TIME AS OF must name the event time of the left side."""
    node = version.expression
    found = matching(left, node.name, node.table) if isinstance(node, exp.Column) else []
    if not found or left.times.get(found[0].column) != 1:
        raise binder.text.error("FOR SYSTEM_TIME AS OF needs the event time of the left side.", node,
                                f"Use the ordered attribute: {', '.join(left.ordered()) or 'nothing'}.")


def asof(left: SqlRelation, right: SqlRelation, found: JoinConditions, kind: JoinKind, join: Any,
         binder: Binder) -> SqlRelation:
    """Each left row with the latest right row up to its time."""
    if found.others or found.epochs or kind.how not in ("inner", "left"):
        raise binder.text.error("An as-of join has keys and one comparison of event times.", join,
                                "Put other conditions into WHERE.")
    if right.table:
        raise binder.text.error("An as-of join needs a time on the right side.", join,
                                'Pass a stream: wb.from_arrow(table, time="...").')
    options: dict[str, Any] = {"ties": "last"} | ({"strict": True} if found.upper == -1 else {})
    if found.lower is not None:
        options["tolerance"] = -found.lower
    marked = kind.how == "inner"
    other = binder.step(join, lambda: right.stream.with_columns(_matched=lit(value=True))) if marked else right.stream
    right = replace(right, stream=other)
    names, suffix, right = _row(left, right, found, kind, join, binder)
    on = dict(found.keys) or None
    stream = binder.step(join, lambda: left.stream.asof_join(right.stream, on=_on(on), suffix=suffix, **options))
    columns = _columns(left, right, names)
    if marked:
        before = stream
        kept = {name: Col(name) for name in before.schema.names if name != "_matched"}
        stream = binder.step(join, lambda: before.where(Col("_matched").is_not_null()).select(**kept))
    return SqlRelation(stream, columns, left.times, left.lives, left.step_ticks)


def related(left: SqlRelation, right: SqlRelation, found: JoinConditions, kind: JoinKind, join: Any,
            binder: Binder) -> SqlRelation:
    """Rows of both that meet: at all times, at the same tick, in the same epoch, or within bounds."""
    lives, step, keep = _meeting(left, right, found, kind, join, binder)
    left, right = keep[0], keep[1]
    if kind.exists:
        return _existing(left, right, found, kind, join, binder)
    names, suffix, right = _row(left, right, found, kind, join, binder)
    columns = _columns(left, right, names)
    times = {name: left.times[name] for name in left.times if left.lives != "always"}
    times |= {names[name]: divisor for name, divisor in right.times.items() if name in names}
    result = SqlRelation(left.stream, columns, _times_of(times, left, right, names, found, lives, step), lives, step,
                         **_windows(left, right, names), size_ticks=left.size_ticks)
    residual = _residual(result, found, left, right, names, join, binder)
    on, how = _on(dict(found.keys) or None), kind.how
    options = lookahead_option(left, right, found)
    if on is None:
        stream = binder.step(join, lambda: left.stream.cross_join(right.stream, how=how, where=residual, suffix=suffix,
                                                                  **options))
    else:
        stream = binder.step(join, lambda: left.stream.join(right.stream, on, how=how, where=residual, suffix=suffix,
                                                            nulls_equal=found.nulls_equal, **options))
    if keep[2]:
        before = stream
        stream = binder.step(join, lambda: before.set_duration(1))
    return replace(result, stream=stream)


def _windows(left: SqlRelation, right: SqlRelation, names: dict[str, str]) -> dict[str, Any]:
    """What is known of the windows of joined rows."""
    mine = left.windows_of({name: name for name in left.stream.schema.names})
    theirs = right.windows_of({new: name for name, new in names.items()})
    return {"bounds": {**mine["bounds"], **theirs["bounds"]}, "alone": mine["alone"] & theirs["alone"],
            "window_keys": mine["window_keys"] | theirs["window_keys"]}


def lookahead_option(left: SqlRelation, right: SqlRelation, found: JoinConditions | None = None) -> dict[str, Any]:
    """The option of a join of results of windows with a table, which never changes, or with rows of equal windows."""
    windows = left.lives == right.lives == "window" and found is not None and any(
        mine in {*left.bounds, *left.times} and theirs in {*right.bounds, *right.times} for mine, theirs in found.keys)
    known = (left.table or right.table or windows) and _is_early(left, right)
    return {"allow_lookahead": True} if known else {}


def _is_early(left: SqlRelation, right: SqlRelation) -> bool:
    """Whether one side could see results of the other before their window has closed."""
    return early_input((left.stream.node.properties, right.stream.node.properties)) is not None


def _meeting(left: SqlRelation, right: SqlRelation, found: JoinConditions, kind: JoinKind, join: Any,
             binder: Binder) -> tuple[Lives, int, tuple[SqlRelation, SqlRelation, bool]]:
    """How long joined rows hold, and both sides so that rows meet that belong together."""
    if left.table or right.table:
        other = right if left.table else left
        _times_as_conditions(found, join, left, right)
        return other.lives, other.step_ticks, (left, right, False)
    if found.epochs:
        _times_as_conditions(found, join, left, right)
        size = max(first.size_ticks for first, _ in found.epochs)
        if size == 1 and left.lives == right.lives == "instant":
            return "instant", 0, (left, right, False)
        sides = tuple(_in_epoch(side, size, found.epochs[0][number].size, join, binder)
                      for number, side in enumerate((left, right)))
        if sides[0].step_ticks != sides[1].step_ticks:
            what, hint = refusal("windows of two sizes")
            raise binder.text.error(what, join, hint)
        if size == 1 and _is_early(*sides):  # lifetimes of windows on two grids overlap, too
            found.keys += [(NameScope(binder, left).find(first.column).column,
                            NameScope(binder, right).find(second.column).column) for first, second in found.epochs]
        return "window", sides[0].step_ticks, (sides[0], sides[1], False)
    if found.lower is not None and found.upper is not None and left.lives == right.lives == "instant":
        if found.lower == found.upper == 0:
            return "instant", 0, (left, right, False)
        if kind.how != "inner" or kind.exists:
            raise binder.text.error("An outer, semi or anti join between times is not part of the language.", join,
                                    "Join in an epoch, such as a.ts/60 = b.ts/60, or use JOIN.")
        return "instant", 0, _within(left, right, found, join, binder)
    if "lasting" in (left.lives, right.lives):
        _times_as_conditions(found, join, left, right)
        both: Lives = "instant" if "instant" in (left.lives, right.lives) else "lasting"
        return both, 0, (left, right, False)
    same_window = any(mine in left.bounds and left.bounds[mine] == right.bounds.get(theirs)
                      for mine, theirs in found.keys)
    if same_window and left.lives == right.lives == "window" and (
            (left.step_ticks, left.size_ticks) == (right.step_ticks, right.size_ticks)):
        _times_as_conditions(found, join, left, right)
        return "window", left.step_ticks, (left, right, False)
    if found.clocks:
        condition_, *values = found.clocks[0]
        clocks = [retimed(side, value, condition_, binder) for side, value in zip((left, right), values, strict=True)]
        found.others = [each for each in found.others if each is not condition_]
        assert clocks[0] is not None
        assert clocks[1] is not None
        _times_as_conditions(found, join, left, right)
        return "instant", 0, (clocks[0], clocks[1], False)
    names = [next((f"{each.source}.{each.name}" if each.source else each.name for each in side.columns
                   if each.column in side.times), "time") for side in (left, right)]
    what, hint = refusal("join without times", left=names[0], right=names[1].removeprefix("(subquery) "))
    raise binder.text.error(what, join, hint)


def _times_as_conditions(found: JoinConditions, join: Any, left: SqlRelation, right: SqlRelation) -> None:
    """Bounds between times as conditions over the joined row, where lifetimes do not say them."""
    columns = [next((_named(each) for each in side.columns if side.times.get(each.column) == 1), None)
               for side in (left, right)]
    if columns[0] is None or columns[1] is None:
        return
    unit = left.stream.schema.unit
    if found.lower is not None:
        found.others.append(_distance(exp.GTE, columns, found.lower, unit))
    if found.upper is not None:
        found.others.append(_distance(exp.LTE, columns, found.upper, unit))


def _distance(kind: Any, columns: list[Any], ticks: int, unit: str | None) -> Any:
    """A comparison of the right time less the left one with a number of ticks."""
    length: Any = exp.Literal.number(str(abs(ticks)))
    if unit is not None:
        length = exp.Interval(this=exp.Literal.string(str(ticks)), unit=exp.var(_UNITS[unit]))
    elif ticks < 0:
        length = exp.Neg(this=length)
    return kind(this=exp.Sub(this=columns[1].copy(), expression=columns[0].copy()), expression=length)


def _in_epoch(side: SqlRelation, size_ticks: int, size: Any, join: Any, binder: Binder) -> SqlRelation:
    """A side in windows of an epoch, unless its rows live in such windows already."""
    if side.lives == "lasting":
        raise binder.text.error("Rows without a known length cannot be joined by an epoch.", join,
                                "Leave HOLD or SLIDE out, or leave out the condition on times.")
    if side.lives == "window" and side.step_ticks >= size_ticks:
        return side
    stream = binder.step(join, lambda: side.stream.tumbling_window(size))
    return replace(side, stream=stream, lives="window", step_ticks=size_ticks)


def _within(left: SqlRelation, right: SqlRelation, found: JoinConditions, join: Any,
            binder: Binder) -> tuple[SqlRelation, SqlRelation, bool]:
    """Two sides whose points last as long as a partner may come after them."""
    assert found.lower is not None
    assert found.upper is not None
    before, after = max(-found.lower, 0), max(found.upper, 0)
    sides = []
    for side, ticks in ((left, after), (right, before)):
        stream = side.stream if ticks == 0 else binder.step(join, partial(side.stream.set_duration, ticks + 1))
        sides.append(replace(side, stream=stream))
    if found.lower > 0 or found.upper < 0:
        _times_as_conditions(found, join, left, right)
    return sides[0], sides[1], True


def _existing(left: SqlRelation, right: SqlRelation, found: JoinConditions, kind: JoinKind, join: Any,
              binder: Binder) -> SqlRelation:
    """Rows of the left side with a partner, or without one."""
    names, suffix, right = _row(left, right, found, replace(kind, using=True), join, binder)
    both = SqlRelation(left.stream, _columns(left, right, names))
    residual = _residual(both, found, left, right, names, join, binder)
    keys = dict(found.keys)
    mine, theirs = left.stream, right.stream
    if not keys:
        mine = binder.step(join, lambda: left.stream.with_columns(_one=lit(1)))
        theirs = binder.step(join, lambda: right.stream.with_columns(_one=lit(1)))
        keys = {"_one": "_one"}
    make: Callable[..., Stream] = mine.semi_join if kind.exists == "SEMI" else mine.anti_join
    options = lookahead_option(left, right, found)
    stream = binder.step(join, lambda: make(theirs, _on(keys), where=residual, suffix=suffix,
                                            nulls_equal=found.nulls_equal, **options))
    if not found.keys:
        before = stream
        stream = binder.step(join, lambda: before.select(**{name: Col(name) for name in left.stream.schema.names}))
    return replace(left, stream=stream)


def _on(keys: dict[str, str] | None) -> Any:
    if keys is None:
        return None
    names = list(keys)
    if all(mine == theirs for mine, theirs in keys.items()):
        return names[0] if len(names) == 1 else names
    return keys


def _row(left: SqlRelation, right: SqlRelation, found: JoinConditions, kind: JoinKind, join: Any,
         binder: Binder) -> tuple[dict[str, str], str, SqlRelation]:
    """The name in the joined row of each right column, the suffix, and the right side with names that fit.

    The keys of an outer join by ON stay apart, because either may be null.
    """
    taken = set(left.stream.schema.names)
    suffix, number = "_right", 2
    others = right.stream.schema.names
    while any(name + suffix in taken or name + suffix in others for name in others if name in taken):
        suffix, number = f"_right{number}", number + 1
    if kind.how != "inner" and not kind.using:
        apart = {theirs: theirs + suffix for mine, theirs in found.keys if theirs in taken}
        if apart:
            renamed = {new: Col(old) for old, new in apart.items()}
            kept = {apart.get(name, name): renamed.get(apart.get(name, ""), Col(name)) for name in others}
            before = right.stream
            right = replace(
                right, stream=binder.step(join, lambda: before.select(**kept)),
                columns=tuple(replace(each, column=apart.get(each.column, each.column)) for each in right.columns),
                times={apart.get(name, name): divisor for name, divisor in right.times.items()})
            found.keys = [(mine, apart.get(theirs, theirs)) for mine, theirs in found.keys]
    same = {theirs for mine, theirs in found.keys if mine == theirs}
    names = {name: name if name in same or name not in taken else name + suffix for name in right.stream.schema.names}
    return names, suffix, right


def _columns(left: SqlRelation, right: SqlRelation, names: dict[str, str]) -> tuple[SqlColumn, ...]:
    return (*left.columns, *(replace(each, column=names[each.column]) for each in right.columns))


def _times_of(times: dict[str, int], left: SqlRelation, right: SqlRelation, names: dict[str, str],
              found: JoinConditions, lives: Lives, step: int) -> dict[str, int]:
    """Columns of the joined row that still are its start, divided."""
    if left.table or right.table or not (found.lower is not None and found.upper is not None):
        if lives == "window":
            return {name: divisor for name, divisor in times.items() if divisor % step == 0 or (divisor == 1
                    and left.lives == right.lives == "window")}
        if "lasting" in (left.lives, right.lives):
            kept = left if left.lives == "instant" else right if right.lives == "instant" else None
            if kept is None:
                return {}
            return dict(left.times) if kept is left else {
                names[name]: divisor for name, divisor in right.times.items()}
        return times
    if found.lower == found.upper == 0:
        return times
    if found.lower >= 0:
        return {names[name]: divisor for name, divisor in right.times.items()}
    return dict(left.times) if found.upper <= 0 else {}


def _residual(result: SqlRelation, found: JoinConditions, left: SqlRelation, right: SqlRelation, names: dict[str, str],
              join: Any, binder: Binder) -> Expr | None:
    """The other conditions, over the joined row."""
    if not found.others:
        return None
    joined_schema = left.stream.schema.with_fields(
        [*left.stream.schema, *(replace(each, name=names[each.name]) for each in right.stream.schema
                                if names[each.name] not in left.stream.schema)], where="")
    scope = NameScope(binder, replace(result, stream=_Typed(joined_schema)))  # type: ignore[arg-type]
    both: Expr | None = None
    for each in found.others:
        made = condition(each, scope)
        both = made if both is None else both & made
    return both


@dataclass(frozen=True)
class _Typed:
    """Stands for a joined stream that is not made yet, with the types of its columns."""

    schema: Any
    node: None = None

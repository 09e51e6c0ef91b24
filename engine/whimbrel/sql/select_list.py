"""The SELECT list: stars, names and implied names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from whimbrel.sql.binder import Binder
from whimbrel.sql.relation import SqlColumn, SqlRelation
from whimbrel.sql.scope import matching


@dataclass(frozen=True)
class Item:
    """One column of the result.

    Parameters
    ----------
    node : sqlglot expression
    label : str
        Its name in SQL.
    name : str
        Its name in the stream, which no other column has.
    named : bool
        Whether the text gives the name.
    """

    node: Any
    label: str
    name: str
    named: bool = False


def items_of(node: Any, relation: SqlRelation, binder: Binder) -> list[Item]:
    """The items of a SELECT list, with stars as columns."""
    found: list[Item] = []
    taken: set[str] = set()

    def add(part: Any, label: str, fallback: str, *, named: bool) -> None:
        name = label if label not in taken else fallback
        number = 2
        while name in taken:
            name, number = f"{label}_{number}", number + 1
        taken.add(name)
        found.append(Item(part, label, name, named))

    for position, part in enumerate(node.expressions, 1):
        star = part.this if isinstance(part, exp.Column) and isinstance(part.this, exp.Star) else part
        if isinstance(star, exp.Star):
            source = part.table if isinstance(part, exp.Column) else ""
            for column, value in _starred(star, source, part, relation, binder):
                add(value, column.name, column.column, named=False)
            continue
        if isinstance(part, exp.Alias):
            add(part.this, part.alias, part.alias, named=True)
        else:
            label = implied_name(part) or f"column_{position}"
            alike = matching(relation, part.name, part.table) if isinstance(part, exp.Column) else []
            add(part, label, alike[0].column if alike else label, named=False)
    if not found:
        raise binder.text.error("SELECT names no column.", node, "Name a column, or use *.")
    return found


def _starred(star: Any, source: str, node: Any, relation: SqlRelation, binder: Binder) -> list[tuple[Any, Any]]:
    """The columns of a star, with EXCEPT and REPLACE."""
    if source and source.lower() not in (each.lower() for each in relation.sources):
        raise binder.text.error(f"There is no table {source!r} here.", node,
                                f"Use {' or '.join(relation.sources)}.")
    left_out = {each.name for each in star.args.get("except_") or []}
    replaced = {each.alias: each.this for each in star.args.get("replace") or []}
    if star.args.get("rename"):
        raise binder.text.error("RENAME of a star is not part of the language.", node, "Use AS.")
    for name in (*left_out, *replaced):
        if not matching(relation, name, source):
            raise binder.text.error(f"There is no column {name!r}.", node, "Name a column of the star.")
    columns = [each for each in relation.columns if (not source or each.source.lower() == source.lower())
               and not each.name.startswith("@")]
    window = relation.window
    if window is not None and (not source or source.lower() == window.source.lower()):
        columns += [SqlColumn(bound, window.source, bound) for bound in ("window_start", "window_end")
                    if not matching(relation, bound)]
    result = []
    shown = set()
    for each in columns:
        if each.name in left_out or each.column in shown:  # keys that an inner join makes equal stand there once
            continue
        shown.add(each.column)
        quoted = exp.Column(this=exp.to_identifier(each.name, quoted=True),
                            table=exp.to_identifier(each.source, quoted=True) if each.source else None)
        result.append((each, replaced.get(each.name, quoted)))
    if not result:
        raise binder.text.error("The star names no column.", node, "Name a column.")
    return result


def implied_name(node: Any) -> str:
    """The name of a column without AS: that of a column, or a function with its column, such as ``sum_len``."""
    while isinstance(node, exp.Paren | exp.Filter | exp.Cast):
        node = node.this
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Window):
        return implied_name(node.this)
    if not isinstance(node, exp.Func):
        return ""
    name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    argument = node.expressions[0] if isinstance(node, exp.Anonymous) and node.expressions else node.this
    return f"{name}_{argument.name}" if isinstance(argument, exp.Column) else name

"""Refuse words of clauses that nothing reads."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp

from whimbrel.sql.positions import SqlText
from whimbrel.sql.refusals import refusal

_READ: Final[dict[Any, tuple[str, ...]]] = {
    exp.Between: ("this", "low", "high"),
    exp.Cast: ("this", "to", "safe"),
    exp.Distinct: ("expressions", "on"),
    exp.Fetch: ("direction", "count", "limit_options"),
    exp.Limit: ("this", "expression", "limit_options"),
    exp.LimitOptions: ("rows",),
    exp.Offset: ("this", "expression"),
    exp.Order: ("this", "expressions"),
    exp.Ordered: ("this", "desc", "nulls_first"),
    exp.WindowSpec: ("kind", "start", "start_side", "end", "end_side"),
}
"""What is read of the parts of clauses."""

_WORDS: Final = {"with_fill": "WITH FILL", "with_ties": "WITH TIES", "expressions": "BY"}


def check_words(tree: Any, text: SqlText) -> None:
    """Refuse words that nothing would read."""
    for node in tree.walk():
        for key, given in node.args.items() if type(node) in _READ else ():
            if given and key not in _READ[type(node)]:
                _refuse(_WORDS.get(key, key.upper()), node, text)
        if isinstance(node, exp.Ordered) and node.args.get("nulls_first") and not _is_read(node):
            _refuse("NULLS FIRST", node, text)
        if isinstance(node, exp.From) and node.this.args.get("version"):
            _refuse("FOR SYSTEM_TIME AS OF", node.this, text)
        if isinstance(node, exp.Join) and isinstance(node.this, exp.Unnest):
            _check_unnest(node, text)


def _is_read(node: Any) -> bool:
    """Whether the place of nulls is read: in ORDER BY of a query, and of numbers of rows."""
    place = node.parent.parent if node.parent is not None else None
    return isinstance(place, exp.Query | exp.Window)


def _check_unnest(join: Any, text: SqlText) -> None:
    """Refuse conditions of UNNEST, and what keeps rows without items."""
    on = join.args.get("on")
    if join.args.get("side") or join.args.get("using") or not (on is None or on == exp.true()):
        what, hint = refusal("unnest with a condition")
        raise text.error(what, join, hint)


def _refuse(word: str, node: Any, text: SqlText) -> None:
    what, hint = refusal("clause", clause=word)
    raise text.error(what, node if any("start" in part.meta for part in node.walk()) else node.parent, hint)

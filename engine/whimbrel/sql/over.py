"""Bind OVER and QUALIFY."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from whimbrel.sql.binder import Binder
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.select_list import Item


def has_window(node: Any) -> bool:
    """Whether an expression has OVER in it."""
    return node.find(exp.Window) is not None


def over_columns(items: list[Item], qualify: Any, relation: SqlRelation,
                 binder: Binder) -> tuple[SqlRelation, dict[int, str]]:
    """The relation with a column for each OVER."""
    raise binder.text.error("OVER is not part of the language.", items[0].node, "Use Python.")


def qualified(node: Any, relation: SqlRelation, binder: Binder) -> SqlRelation:
    """Rows of groups for which QUALIFY is true."""
    raise binder.text.error("QUALIFY is not part of the language.", node, "Use Python.")

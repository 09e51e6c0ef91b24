"""WINDOW: names of windows for OVER."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from whimbrel.errors import near_match
from whimbrel.sql.binder import Binder


def with_windows(node: Any, binder: Binder) -> Any:
    """A SELECT in which each OVER with a name has what WINDOW says of it."""
    given = node.args.get("windows")
    if not given:
        return node
    node = node.copy()
    named = {each.name.lower(): each for each in node.args["windows"]}
    node.set("windows", None)
    for window in list(node.find_all(exp.Window)):
        if not window.alias:
            continue
        if window.alias.lower() not in named:
            raise binder.text.error(f"There is no window {window.alias!r}.", window,
                                    near_match(window.alias, [each.name for each in given], noun="window"))
        meant = named[window.alias.lower()]
        for key in ("partition_by", "order", "spec"):
            if meant.args.get(key) and window.args.get(key):
                raise binder.text.error(f"The window {window.alias!r} has this part already.", window,
                                        "Leave it out of OVER.")
            if meant.args.get(key):
                part = meant.args[key]
                window.set(key, [each.copy() for each in part] if isinstance(part, list) else part.copy())
        window.set("alias", None)
    return node

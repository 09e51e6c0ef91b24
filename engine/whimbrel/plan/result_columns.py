"""Check the column names of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.errors import PlanError

if TYPE_CHECKING:
    from whimbrel.plan.graph import Node


def check_shown(plan: Node) -> None:
    """Refuse to answer with a column that stands where the start or the end of lifetimes does, and is neither.

    Raises
    ------
    PlanError
    """
    for source in plan.sources():
        for name in source.hidden:
            if name in plan.schema.names:
                edge = "time" if name == "start" else "end"
                raise PlanError(
                    f"Column {name!r} of {source.name} has the name of a column for lifetimes.",
                    where=f"the columns of {source.name}",
                    hint=f'Use {edge}="{name}" if it is that, or rename it: select(..., {name}ed=col.{name}).')

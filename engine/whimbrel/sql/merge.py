"""MERGE: several streams as one, in the order of time."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from whimbrel.expr import Col
from whimbrel.sql.binder import Binder
from whimbrel.sql.epochs import retimed
from whimbrel.sql.from_clause import Query, source
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.scope import matching
from whimbrel.sql.set_operations import in_order_of, of_common_types, united


def merge_streams(node: Any, binder: Binder, query: Query) -> SqlRelation:
    """MERGE a.t : b.t FROM a, b: the rows of all in the order of time, columns by position."""
    relations = []
    for table in node.args["tables"]:
        relation = source(table, binder, query)
        if relation.window is not None:
            raise binder.text.error("MERGE needs streams, and TUMBLE, HOP, SESSION and CUMULATE need GROUP BY.", node,
                                    "Use GROUP BY window_start first, in a subquery.")
        relations.append(relation)
    if len(relations) < 2 or len(relations) != len(node.expressions):
        raise binder.text.error("MERGE needs one ordered attribute of each stream.", node,
                                "Use MERGE a.t : b.t FROM a, b.")
    positions = set()
    for place, (attribute, relation) in enumerate(zip(node.expressions, list(relations), strict=True)):
        if not isinstance(attribute, exp.Column):
            raise binder.text.error("MERGE needs the event time of each stream.", node,
                                    "Use MERGE a.t : b.t FROM a, b.")
        if attribute.table and attribute.table not in relation.sources:
            raise binder.text.error(f"There is no stream {attribute.table!r} at this position.", attribute,
                                    f"Use {relation.sources[0]}.{attribute.name}.")
        found = matching(relation, attribute.name)
        if len(found) == 1 and found[0].column in relation.orders() and relation.lives == "instant":
            relations[place] = retimed(relation, Col(found[0].column), attribute, binder) or relation
        elif len(found) != 1 or relation.times.get(found[0].column) != 1:
            ordered = ", ".join(relation.ordered()) or "nothing"
            raise binder.text.error(f"{attribute.name!r} is not the event time of its stream.", attribute,
                                    f"Use the ordered attribute: {ordered}.")
        positions.add(relation.columns.index(found[0]))
    if len(positions) != 1:
        raise binder.text.error("Ordered attributes of MERGE must have the same position.", node,
                                "Select the columns in one order first.")
    first = relations[0]
    alike = [first, *(in_order_of(first, each, node, binder, "MERGE") for each in relations[1:])]
    return united(of_common_types(alike, node, binder), node, binder).named("")

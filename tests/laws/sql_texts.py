"""Texts of SQL as queries over the inputs of the laws, with the oracle's answer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import whimbrel as wb
from whimbrel import col
from whimbrel.plan import Node
from whimbrel.stream.python_text import python_text
from whimbrel.testing.model import MODEL_API, Model
from whimbrel.testing.oracle import Event, OracleColumns
from whimbrel.testing.rows import EXAMPLE_SCHEMA, BatchedRows


class SqlText:
    """A text over two logs that are made of one input: TCP and bids, with integer times."""

    def __init__(self, text: str) -> None:
        self.text = text

    def build(self, events: wb.Stream) -> wb.Stream:
        """The query over the logs."""
        return wb.sql(self.text, **logs(events))

    def reference(self, facts: list[Event]) -> list[Event]:
        """What the oracle answers to the Python that the query prints."""
        stream = self.build(wb.Stream(Node(BatchedRows([[]], name="s"))))
        printed = python_text(stream.node, stream.keys)
        names: dict[str, Any] = {"wb": MODEL_API, "col": OracleColumns(), "pa": pa}
        exec(printed.text[printed.text.index("def query"):], names)
        answer: Model = names["query"](Model(list(facts), columns=EXAMPLE_SCHEMA.names))
        return answer.facts


def logs(events: wb.Stream) -> dict[str, wb.Stream]:
    """The logs that texts read, made of events of the example schema."""
    points = events.set_duration(1)
    tcp = points.select("time", srcIP=col.key, destIP=wb.when(col.x > 2).then("a").otherwise(col.key),
                        protocol=wb.when(col.x > 0).then(6).otherwise(17), len=col.x * 10, fin=col.flag)
    return {"TCP": tcp, "bids": points.select(ts=col.time, k=col.key, price=col.y)}

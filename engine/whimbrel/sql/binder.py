"""Bind the statements of a text to streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from whimbrel.errors import WhimbrelError, near_match
from whimbrel.plan import LOOKAHEAD_HINT
from whimbrel.sql.positions import SqlText, plain_hint
from whimbrel.sql.refusals import refusal
from whimbrel.sql.relation import SqlRelation, relation_of
from whimbrel.sql.tables import as_table, reads_tables_only, table_stream
from whimbrel.stream import Stream


@dataclass(frozen=True)
class Binder:
    """What the parts of a text can name.

    Parameters
    ----------
    text : SqlText
    streams : mapping
        Streams and tables of the caller.
    parameters, functions : mapping
        Of the caller.
    time : pyarrow.DataType
        The type of time of the streams, which tables take.
    views : mapping of str to SqlRelation
        Views and parts of WITH.
    properties : frozenset of str
        Properties of interfaces that the text uses, such as ``@Host``.
    tables : dict of str to Stream
        The tables that were read, as streams: one that is read twice is one source.
    flushes_evenly : bool
        Whether the groups of a finished tumbling window leave little by little.
    """

    text: SqlText
    streams: Mapping[str, Any]
    parameters: Mapping[str, Any]
    functions: Mapping[str, Callable[..., Any]]
    time: pa.DataType
    views: Mapping[str, SqlRelation] = field(default_factory=dict)
    properties: frozenset[str] = frozenset()
    tables: dict[str, Stream] = field(default_factory=dict)
    flushes_evenly: bool = False

    def with_view(self, name: str, relation: SqlRelation) -> Binder:
        """The same with one more name."""
        return replace(self, views={**self.views, name: relation})

    def parameter(self, name: str, node: Any) -> Any:
        """The value of ``$name``."""
        if name not in self.parameters:
            raise self.text.error(f"The parameter {name!r} has no value.", node,
                                  f"Pass it: wb.sql(..., parameters={{{name!r}: ...}}).")
        return self.parameters[name]

    def relation(self, name: str, node: Any) -> SqlRelation:
        """The stream, table or view of a name."""
        known = {**self.streams, **self.views}
        if name not in known:
            alike = [each for each in known if each.lower() == name.lower()]
            if len(alike) != 1:
                raise self.text.error(f"There is no table {name!r}.", node, near_match(name, known, noun="table"))
            [name] = alike
        if name in self.views:
            return self.views[name].named(name)
        data = self.streams[name]
        if isinstance(data, Stream):
            return relation_of(data, name, table=reads_tables_only(data))
        if name not in self.tables:
            self.tables[name] = self.table(as_table(data, name), name)
        return relation_of(self.tables[name], name, table=True)

    def table(self, table: pa.Table, name: str) -> Stream:
        """A stream of rows that hold at all times."""
        return table_stream(table, name, self.time)

    def step(self, node: Any, make: Callable[[], Stream]) -> Stream:
        """What a method of a stream gives, with its error at the place in the text."""
        try:
            return make()
        except WhimbrelError as error:
            if error.where.startswith("line "):
                raise
            if error.hint == LOOKAHEAD_HINT:
                what, hint = refusal("lookahead")
                raise self.text.error(what, node, hint) from None
            raise self.text.error(error.what, node, plain_hint(error.hint)) from None


def time_type(streams: Mapping[str, Any], trees: list[Any]) -> pa.DataType:
    """The type of time of the streams that a text names; integers if it names tables only."""
    tables = [table for tree in trees for table in tree.find_all(exp.Table)]
    used = {name.lower() for each in tables for name in (each.name, ".".join(part.name for part in each.parts))}
    used |= {column.name.lower() for tree in trees for column in tree.find_all(exp.Column)}
    types = [stream.schema.time_type for name, stream in streams.items()
             if isinstance(stream, Stream) and {name.lower(), name.rpartition(".")[2].lower()} & used]
    return types[0] if types else pa.int64()

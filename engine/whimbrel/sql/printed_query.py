"""Print a query as SQL that builds it again.

Each step has a few texts that may build it. One is taken only if it does build the same plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import indent
from typing import Any

from whimbrel.errors import PlanError, WhimbrelError
from whimbrel.expr import Col, Expr, Keys
from whimbrel.expr.columns import lifetime_of
from whimbrel.operators import GroupAggregate, Join, Retime, Select, SemiJoin, Where
from whimbrel.plan import MethodCall, Node, Source, explain, used_by
from whimbrel.sql.binder import Binder, time_type
from whimbrel.sql.order_by import SortedStream
from whimbrel.sql.parse import parse
from whimbrel.sql.printed_arguments import argument_texts, functions_of
from whimbrel.sql.printed_expressions import EXACT_DIVISION, NoWordError, ScalarTexts, name_text
from whimbrel.sql.printed_groups import closing_blocks, grouped_blocks
from whimbrel.sql.printed_patterns import match_text, matches_below
from whimbrel.sql.printed_select import SqlBlock
from whimbrel.sql.query import query
from whimbrel.sql.relation import SqlRelation
from whimbrel.sql.table_functions import is_operator, operator_word, takes_keys
from whimbrel.sql.values import ONE_ROW
from whimbrel.stream import Stream
from whimbrel.stream.printed_latency import without_latency
from whimbrel.stream.python_text import argument_name, is_read, read_by, shared_nodes

_OF_PYTHON = ("detect", "process")
"""Operators with arguments that SQL cannot write."""

_WINDOWS = ("tumbling_window", "hopping_window", "session_window")


def sql_text(stream: Stream, latencies: Sequence[str] = ()) -> str:
    """The text of a query, which ends with EMIT AT if it has latencies.

    Raises
    ------
    PlanError
        For a step that has no word in SQL.
    """
    node, latency = without_latency(stream.node, "sql()")
    if latency:
        if isinstance(stream, SortedStream):
            raise PlanError("SQL has no EMIT AT with ORDER BY or LIMIT.", where="sql()", hint="Use python().")
        stream, latencies = Stream(node), (latency,)
    if latencies:
        text = _Writer(stream).text()
        return text + ("\n" if "\n" in text else " ") + f"EMIT AT {', '.join(latencies)}"
    if not isinstance(stream, SortedStream):
        return _Writer(stream).text()
    chosen = "*" if stream.wider is None else ", ".join(name_text(name) for name in stream.schema.names)
    rows = f"SELECT {chosen} FROM (\n{indent(_Writer(stream.rows).text(), '    ')}\n) AS unordered"  # noqa: S608
    order = ", ".join(f"{name_text(name)} {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
                      for name, descending, nulls_first in stream.order)
    limit = "" if stream.limit is None else f" LIMIT {stream.limit}"
    offset = f" OFFSET {stream.offset}" if stream.offset else ""
    return f"{rows}\nORDER BY {order}{limit}{offset}"


class _Writer:
    """Texts of the steps of one query, each checked to build its step."""

    def __init__(self, stream: Stream) -> None:
        self.node = stream.node
        self.streams: dict[str, Stream] = {}
        self.names: dict[int, str] = {}
        for read in read_by(stream.node):
            stem = name = argument_name(read)
            number = 2
            while name in self.streams:
                name, number = f"{stem}_{number}", number + 1
            node = Node(read) if isinstance(read, Source) else read
            self.streams[name] = Stream(node)
            self.names[id(read)] = name
        self.shared = {id(node) for node, _ in shared_nodes(stream.node, len(stream.node.calls))}
        self.binder: Any = None
        self.functions: dict[str, Any] = {}
        self.views: dict[str, SqlRelation] = {}
        self.parts: dict[str, str] = {}
        self.done: dict[int, tuple[SqlBlock, SqlRelation]] = {}
        self.sources: dict[SqlBlock, str] = {}

    def text(self) -> str:
        """The whole query."""
        block, _ = self.block(self.node)
        texts = [block.text()]
        for name, text in reversed(self.parts.items()):
            if any(re.search(rf"\b{name}\b", each) for each in texts):
                texts.insert(0, f"{name} AS (\n{indent(text, '    ')}\n)")
        for name, stream in self.streams.items():
            if stream.sources[0].name == ONE_ROW:  # no table of the user
                column = next(each for each in stream.schema.names if each.strip("_") == "one")
                rows = f"(VALUES (1)) AS {name}({name_text(column)})"
                texts.insert(0, f"{name} AS (\n    SELECT * FROM {rows}\n)")  # noqa: S608 - of a text that is printed
        *parts, last = texts
        return f"WITH {', '.join(parts)}\n{last}" if parts else last

    def block(self, node: Node) -> tuple[SqlBlock, SqlRelation]:
        """The SELECT that builds a node, and its relation."""
        todo = [node]
        while todo:
            each = todo[-1]
            if id(each) in self.done:
                todo.pop()
                continue
            call = None if is_read(each) else _last_call(each)
            if call is None and not is_read(each):
                raise self._no_word(each)
            used = [] if call is None else self._inputs(each, call)
            waiting = [below for below in used if id(below) not in self.done]
            if waiting:
                todo += waiting
                continue
            todo.pop()
            found = self._read(each) if call is None else self._step(each, call, used)
            if id(each) in self.shared and not is_read(each):
                source = self.part(*found)
                found = SqlBlock(source), self.views[source]
            self.done[id(each)] = found
        return self.done[id(node)]

    def _inputs(self, node: Node, call: MethodCall) -> list[Node]:
        """The nodes that a step is made of; those of MATCH_RECOGNIZE are below its pattern."""
        pattern = matches_below(node)
        if pattern is not None:
            node, call = pattern
        return [self._used(node, stream) for stream in call.inputs]

    def _used(self, node: Node, stream: Any) -> Node:
        used = used_by(node, stream)
        if used is None or not stream.path:
            raise self._no_word(node)
        return used

    def _read(self, node: Node) -> tuple[SqlBlock, SqlRelation]:
        block = SqlBlock(name_text(self.names[id(node.op if isinstance(node.op, Source) else node)]))
        return block, self.bind(block)

    def _step(self, node: Node, call: MethodCall, used: list[Node]) -> tuple[SqlBlock, SqlRelation]:
        wanted = explain(node)
        for exact in (False, True):
            token = EXACT_DIVISION.set(exact)
            try:
                for block in self._candidates(node, call, used):
                    try:
                        relation = self.bind(block)
                    except WhimbrelError:
                        continue
                    if explain(relation.stream.node) == wanted:
                        return block, relation
            except NoWordError as error:
                raise self._no_word(node, str(error)) from None
            finally:
                EXACT_DIVISION.reset(token)
        raise self._no_word(node)

    def _no_word(self, node: Node, part: str = "") -> PlanError:
        name = node.calls[-1].name if node.calls else ""
        shown = "" if isinstance(node.op, Source) else node.op.show()
        text = shown if not name or shown.startswith(name) or name in shown else f"{name}: {shown}"
        what = f"SQL has no word for {part[:100]} of {text[:200]}." if part and part != text else (
            f"SQL has no word for this step: {text[:300]}.")
        return PlanError(what, where="sql()", hint="Use python(), which prints every step.")

    def bind(self, block: SqlBlock) -> SqlRelation:
        """The relation that a text builds."""
        [statement] = parse(block.text())
        if self.binder is None:
            self.binder = Binder(statement.text, self.streams, {}, self.functions, time_type(self.streams, []))
        return query(statement.tree, replace(self.binder, text=statement.text, views=self.views))

    def source(self, block: SqlBlock, relation: SqlRelation) -> str:
        """What stands after FROM for a query: a name, or a call."""
        return block.source if block.bare else self.part(block, relation)

    def part(self, block: SqlBlock, relation: SqlRelation) -> str:
        """The name of a query, which stands in WITH."""
        if block.source in self.views and block.bare:
            return block.source
        if block not in self.sources:
            number = len(self.parts) + 1
            while f"part_{number}" in {*self.streams, *self.views}:
                number += 1
            name = f"part_{number}"
            self.parts[name], self.views[name], self.sources[block] = block.text(), relation.named(name), name
        return self.sources[block]

    def _candidates(self, node: Node, call: MethodCall, used: list[Node]) -> Iterator[SqlBlock]:
        """Texts that may build a step."""
        blocks = [self.block(below) for below in used]
        self.functions.update(functions_of(call))
        inner, relation = blocks[0]
        name, texts = call.name, ScalarTexts()
        if (pattern := matches_below(node)) is not None:
            yield SqlBlock(match_text(node, *pattern, self.source(inner, relation), relation), joined=True)
        elif isinstance(node.op, Where) and name == "where":
            condition = texts.text(node.op.condition)
            if inner.open and not inner.where:
                yield replace(inner, where=condition)
            elif inner.group and not inner.having:
                yield replace(inner, having=condition)
            yield SqlBlock(self.source(inner, relation), where=condition)
        elif isinstance(node.op, Select) and name in ("select", "with_columns", "drop", "rename"):
            columns = self._columns(node.op.columns, relation)
            if inner.open:
                yield replace(inner, columns=columns)
            yield SqlBlock(self.source(inner, relation), columns)
        elif name == "aggregate":
            below = self._window_below(used[0])
            choices: list[Any] = []
            if below is not None:
                block, found = self.block(below)
                choices.append((block if block.open else SqlBlock(self.source(block, found)), found, used[0]))
            choices.append((inner if inner.open else SqlBlock(self.source(inner, relation)), relation, None))
            yield from grouped_blocks(node, choices, str(call.options.get("emit", "change")))
        elif name == "epoch_aggregate":
            yield from closing_blocks(node, inner if inner.open else SqlBlock(self.source(inner, relation)), relation)
        elif isinstance(node.op, GroupAggregate) and name == "distinct":
            yield SqlBlock(self.source(inner, relation), "DISTINCT *")
            names = ", ".join(map(name_text, node.schema.names))
            yield SqlBlock(self.source(inner, relation), names, group=names)
        elif name == "union" and len(blocks) == 2:
            sources = [self.source(*each) for each in blocks]
            yield SqlBlock(whole=" UNION ALL ".join(SqlBlock(each).text() for each in sources))
        elif isinstance(node.op, Join | SemiJoin):
            clocks = [each.op.start for each in used if isinstance(each.op, Retime) and each.calls]
            if len(clocks) == 2 and not any(map(lifetime_of, clocks)):
                sides = [self.block(self._used(each, each.calls[-1].inputs[0])) for each in used]
                yield from self._joins(node, sides, clocks)
            yield from self._joins(node, blocks)
        if pattern is None and is_operator(name) and name not in _OF_PYTHON:
            sources = [self.source(*each) for each in blocks]
            keys = call.inputs[0].keys if takes_keys(name) else ()
            first = f"TABLE {sources[0]} PARTITION BY {_keys(keys)}" if keys else sources[0]
            yield SqlBlock(f"{operator_word(name)}({', '.join([first, *sources[1:], *argument_texts(call)])})")

    def _window_below(self, node: Node) -> Node | None:
        """The node below a window that GROUP BY can put on."""
        if not node.calls or node.calls[-1].name not in _WINDOWS or id(node) in self.shared:
            return None
        return self._used(node, node.calls[-1].inputs[0])

    def _columns(self, columns: Any, relation: SqlRelation) -> str:
        """The SELECT list; all columns of the relation at its beginning are a star."""
        texts = ScalarTexts()
        kept = [column.column for column in relation.columns]
        starred = [name for name, expr in columns[:len(kept)] if isinstance(expr, Col) and expr.name == name] == kept
        items = ["*"] if starred else []
        for name, expr in columns[len(kept) if starred else 0:]:
            text = texts.text(expr)
            items.append(text if text == name_text(name) else f"{text} AS {name_text(name)}")
        return ", ".join(items)

    def _joins(self, node: Node, blocks: list[tuple[SqlBlock, SqlRelation]],
               clocks: Sequence[Expr] = ()) -> Iterator[SqlBlock]:
        """Texts of a join; `clocks` are equal values of the sides that are their event times."""
        op: Any = node.op
        (left, mine), (right, theirs) = blocks
        first, second = self.source(left, mine), self.source(right, theirs)
        names = mine.stream.schema.names, theirs.stream.schema.names
        keys = {other for one, other in op.on if one == other}
        others = {name if name not in names[0] else name + op.suffix: f"b.{name_text(name)}" for name in names[1]
                  if name not in keys}
        texts = ScalarTexts(lambda name: others.get(name) or f"a.{name_text(name)}")
        equal = "IS NOT DISTINCT FROM" if op.nulls_equal else "="
        on = [f"a.{name_text(one)} {equal} b.{name_text(other)}" for one, other in op.on]
        where = [] if op.condition is None else [texts.text(op.condition)]
        meeting = [[one, other] for one, divisor in mine.times.items() for other, same in theirs.times.items()
                   if divisor == same]
        if clocks:
            one = ScalarTexts(lambda name: f"a.{name_text(name)}").text(clocks[0])
            other = ScalarTexts(lambda name: f"b.{name_text(name)}").text(clocks[1])
            where, meeting = [*where, f"{one} = {other}"], []
        word = _join_word(op)
        tables = f"{first} AS a {word}JOIN {second} AS b"
        items = [others.get(name) or f"a.{name_text(name)}" for name in node.schema.names]
        items = [text if text.split(".", 1)[1] == name_text(name) else f"{text} AS {name_text(name)}"
                 for name, text in zip(node.schema.names, items, strict=True)]
        apart = isinstance(op, SemiJoin) or not any(" AS " in each for each in items)
        block = SqlBlock(columns="*" if apart else ", ".join(items), joined=True)
        same = all(one == other for one, other in op.on) and not where and not op.nulls_equal
        for meets in [*meeting, []]:
            if same and len({*meets}) < 2 and op.on:
                using = [name_text(one) for one, _ in op.on] + ([name_text(meets[0])] if meets else [])
                yield replace(block, source=f"{tables} USING ({', '.join(using)})")
            time = [f"a.{name_text(meets[0])} = b.{name_text(meets[1])}"] if meets else []
            if on or time or where:
                yield replace(block, source=f"{tables} ON {' AND '.join([*on, *time, *where])}")
            else:
                yield replace(block, source=f"{first} AS a CROSS JOIN {second} AS b")


def _last_call(node: Node) -> MethodCall | None:
    """The call that made a node; a query of each group was made by the methods in it."""
    return next((call for call in reversed(node.calls) if call.name != "group_apply"), None)


def _join_word(op: Any) -> str:
    if isinstance(op, SemiJoin):
        return "ANTI " if op.anti else "SEMI "
    return "" if op.how == "inner" else f"{op.how.upper()} "


def _keys(keys: Keys) -> str:
    """Keys of PARTITION BY; values with names stand in parentheses."""
    texts = [(name_text(name), ScalarTexts().text(expr)) for name, expr in keys]
    if all(name == text for name, text in texts):
        return ", ".join(name for name, _ in texts)
    return f"({', '.join(name if name == text else f'{text} AS {name}' for name, text in texts)})"

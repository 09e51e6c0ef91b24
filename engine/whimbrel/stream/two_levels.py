"""Run the two levels of a query in different processes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, Unpack

from whimbrel.batch import Schema, table_schema
from whimbrel.connect.feeds.flight import FlightFeed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.errors import PlanError, SchemaError
from whimbrel.expr import Col, functions_in, identity
from whimbrel.operators import GroupAggregate, Punctuate, Select, Union, Where
from whimbrel.operators.rows.punctuate import PUNCTUATION
from whimbrel.optimize import above, split_levels, why_no_levels
from whimbrel.plan import AggregatePhase, Node, Operator, Source, replace_parts, walk

_HINT = "Call it on a query with one aggregate of tumbling or hopping windows over its sources."


@dataclass(frozen=True)
class Levels:
    """The two levels of a query.

    Attributes
    ----------
    aggregate : Node
        The step of the query that they replace.
    low : Node
        Partial aggregates, with punctuations.
    high : tuple of Operator
        From partial aggregates to the rows of the aggregate.
    """

    aggregate: Node
    low: Node
    high: tuple[Operator, ...]


class TwoLevels:
    """Methods of a query that run its low level here and its high level elsewhere."""

    node: Node

    def low(self) -> Self:
        """Make a stream of the partial aggregates of the query.

        They are merged in another process.

        The low level has the sources, the filters and the first aggregate of the query. Its rows are states of the
        aggregates, and punctuations. They have no meaning of their own: :meth:`high` makes the result of them.

        Raises
        ------
        PlanError
            For a query without a low level. The error says why.

        Examples
        --------
        >>> import whimbrel as wb
        >>> log = wb.from_arrow({"at": [0, 4, 12], "x": [1, 2, 3]}, time="at", name="log")
        >>> sums = log.tumbling_window(10).aggregate(n=wb.count(), total=wb.sum(wb.col.x))
        >>> with wb.serve(sums.low()) as served:
        ...     sums.high(served.flight, token=served.token).collect().to_pylist()
        [{'start': 0, 'end': 10, 'n': 2, 'total': 3}, {'start': 10, 'end': 20, 'n': 1, 'total': 3}]
        """
        return self._over(levels_of(self.node, "low()").low)

    def high(self, *feeds: Any, token: str | None = None, **options: Unpack[FeedOptions]) -> Self:
        """Make the result of the query from partial aggregates.

        Low levels serve them.

        Groups are merged over all feeds. A window is settled when all of them have passed it.

        Parameters
        ----------
        *feeds : str or Stream
            Addresses of servers, ``"grpc://host:port"``; or streams with the rows of :meth:`low`, such as files.
        token : str, optional
            The token of the servers.
        **options
            Options of every feed at an address. See
            :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.

        Raises
        ------
        PlanError
            For a query without a low level. The error says why.
        SchemaError
            For a stream with other columns. A server of another query refuses when the query is started.

        Notes
        -----
        A server that is not there is an error of ``collect()`` and ``batches()`` after 30 seconds. ``start()`` waits
        for it.
        """
        levels = levels_of(self.node, "high(...)")
        if not feeds:
            raise PlanError("high() needs a feed of partial aggregates.", where="high()",
                            hint="Pass the address of a server: query.high(served.flight, token=...).")
        _check_once(feeds)
        schema, level = levels.low.schema, level_id(levels.low)
        rows = []
        for feed in feeds:
            source = _feed(feed, schema, token, options)
            if isinstance(source.op, FlightFeed):
                source = Node(source.op.of_level(level))
            _check_columns(source.schema, schema)
            partials = Where(condition=~Col(PUNCTUATION))
            states = Select(columns=tuple((name, Col(name)) for name in schema.names if name != PUNCTUATION))
            rows.append(above(source, (partials, states)))
        merged = above(rows[0] if len(rows) == 1 else Node(Union(), tuple(rows)), levels.high)
        node = replace_parts(self.node, lambda each: merged if each is levels.aggregate else None)
        return self._over(node.rewrite(lambda each: Node(each.op, each.inputs)))

    def _over(self, node: Node) -> Self:
        """A stream of another plan."""
        made: Self = replace(self, node=node)  # type: ignore[type-var]
        return made


def levels_of(node: Node, where: str) -> Levels:
    """The levels of a query; a PlanError that says why it has none."""
    reasons = []
    for aggregate in node.walk():
        op = aggregate.op
        if not isinstance(op, GroupAggregate) or op.part is not AggregatePhase.WHOLE:
            continue
        found = split_levels(aggregate)
        if found is None:
            reasons.append(f"{op.show()}: {why_no_levels(aggregate) or 'its states cannot be merged'}")
        elif (read := _read_past(node, aggregate)) is not None:
            reasons.append(f"{op.show()}: {read} is also read without it")
        else:
            low, high = found
            clash = {"start", "end", PUNCTUATION}.intersection(low.schema.names)
            if clash:
                raise PlanError(f"The low level cannot have a column {min(clash)!r}.", where=where,
                                hint="Give the key another name, such as group_by(key=col.start).")
            return Levels(aggregate, Node(Punctuate(), (low,)), high)
    why = reasons[0] if reasons else "it has no aggregate"
    raise PlanError(f"This query has no low level, because of {why}." if reasons else
                    f"This query has no low level, because {why}.", where=where, hint=_HINT)


def _read_past(node: Node, aggregate: Node) -> str | None:
    """A source that the query reads other than through an aggregate."""
    past = walk((node,), lambda each: () if each is aggregate else each.inputs)
    return next((each.op.name for each in past if isinstance(each.op, Source)), None)


def is_low_level(node: Node) -> bool:
    """Whether a plan is that of :meth:`TwoLevels.low`."""
    return isinstance(node.op, Punctuate)


def level_id(low: Node) -> str:
    """An id of a low level: equal in all processes for steps that do the same. What is read is no part of it."""
    words = [f"{each.op.show()} {identity(*functions_in(each.op))}" for each in low.walk()
             if isinstance(each.op, Operator)]
    text = "\n".join([*words, low.schema.show(), str(low.schema.time_type)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def show_level(low: Node) -> str:
    """A low level in words."""
    aggregate = low.inputs[0].op
    assert isinstance(aggregate, Operator)
    return aggregate.show()


def _check_once(feeds: Sequence[Any]) -> None:
    """Refuse a feed that was given twice: its rows would count twice."""
    seen = set[object]()
    for number, feed in enumerate(feeds, start=1):
        node = getattr(feed, "node", feed)
        op = getattr(node, "op", None)
        same = (feed, "") if isinstance(feed, str) else id(node)
        if isinstance(op, FlightFeed):
            same = op.address, op.ticket
        if same in seen:
            raise PlanError(f"Feed {number} of high() was given before, so its rows would count twice.",
                            where="high(...)", hint="Pass each feed once.")
        seen.add(same)


def _feed(feed: Any, schema: Schema, token: str | None, options: Any) -> Node:
    """The source of a feed that was given to high()."""
    if isinstance(feed, str):
        given = {"name": "flight", "late": "raise", **options}
        return Node(FlightFeed(feed, time="start", end="end", token=token, schema=table_schema(schema), **given))
    node = getattr(feed, "node", None)
    if not isinstance(node, Node):
        raise PlanError(f"high() needs addresses or streams, got {type(feed).__name__}.", where="high(...)",
                        hint="Pass the address of a server: query.high(served.flight, token=...).")
    if token is not None or options:
        raise PlanError("token= and options of feeds are for addresses.", where="high(...)",
                        hint="Give them where the stream is read.")
    return node


def _check_columns(given: Schema, wanted: Schema) -> None:
    """Refuse a stream without the columns of the low level."""
    for field in wanted:
        if field.name not in given:
            raise SchemaError(f"The feed has no column {field.name!r} of the low level.", where="high(...)",
                              hint="Pass a stream with the rows of low() of the same query.")
        if given.type_of(field.name) != field.type:
            raise SchemaError(f"Column {field.name!r} of the low level is {field.type}, got "
                              f"{given.type_of(field.name)}.", where="high(...)",
                              hint="Pass a stream with the rows of low() of the same query.")
    if (given.unit, given.zone) != (wanted.unit, wanted.zone):
        raise SchemaError(f"Times of the low level are {wanted.time_type}, got {given.time_type}.", where="high(...)",
                          hint="Pass a stream with the rows of low() of the same query.")

"""What ``history.then(feed)`` checks before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from whimbrel.clock import Duration, Instant, duration_ticks, parse_instant, quote_ticks
from whimbrel.connect.feeds import Feed
from whimbrel.connect.feeds.runtime.cutover import Cutover, KeyCutover, OffsetCutover, TimeCutover
from whimbrel.connect.feeds.runtime.hybrid_source import HybridSource
from whimbrel.connect.validation import column_names
from whimbrel.errors import PlanError, SchemaError
from whimbrel.plan import Source

_WAYS = 'offset="n"; keys=["id"], dedup_window="1h"; or cutover="2024-01-01"'


def hybrid_source(history: object, feed: object, *, offset: str | None, partition: str | None, keys: Sequence[str],
              dedup_window: Duration | None, cutover: Instant | None) -> HybridSource:
    """See :meth:`whimbrel.Stream.then`."""
    where = "then(...)"
    if not isinstance(history, Source) or history.live:
        raise PlanError("What comes first must be a history: a log as it was read.", where=where,
                        hint="hand over first, and run the query on both: query.on(log.then(feed, ...))")
    if not isinstance(feed, Feed):
        raise PlanError("What comes then must be a feed as it was made.", where=where,
                        hint="such as wb.feeds.kafka(...)")
    for field in history.schema:
        if field.name not in feed.schema:
            raise SchemaError(f"The feed has no column {field.name!r}, which the history has.", where=where,
                              hint="drop it from the history's file, or add it to the feed")
        if (type_ := feed.schema.type_of(field.name)) != field.type:
            raise SchemaError(f"{field.name!r} is {field.type} in the history and {type_} in the feed.", where=where,
                              hint=f"the broker gives it as {type_}: cast it in the history's file"
                              if field.name in feed.metadata_columns.names else "give the feed this schema")
    if (history.time, history.schema.time_type) != (feed.time, feed.schema.time_type):
        raise SchemaError("History and feed count time differently.", where=where, hint="give both the same time=")
    if feed.numbered:
        raise PlanError("Rows of a feed are numbered from 0, so they do not follow those of a history.", where=where,
                        hint="Name an event-time column in both.")
    columns = column_names("keys", keys, where=where)
    if offset is not None and partition is None:
        part = feed.part_of(offset)
        if part is not None and part in history.schema and part in feed.schema:
            partition = part
        else:
            feed = feed.of_one_part(offset)
    overlap = _cutover(history, feed, offset, partition, columns, dedup_window, cutover, where)
    return HybridSource(history, feed, overlap)


def _cutover(history: Source, feed: Feed, offset: str | None, partition: str | None, keys: tuple[str, ...],
          dedup_window: Duration | None, cutover: Instant | None, where: str) -> Cutover:
    schema: Any = history.schema
    if sum(way is not None and way != () for way in (offset, keys, cutover)) != 1:
        raise PlanError("How history and feed overlap must be said in one way.", where=where, hint=_WAYS)
    if offset is not None:
        if not pa.types.is_integer(schema.type_of(offset, where=where)):
            raise SchemaError(f"offset={offset!r} is {schema.type_of(offset)}, no integer.", where=where, hint=_WAYS)
        if partition is not None:
            schema.type_of(partition, where=where)
        return OffsetCutover(offset, partition)
    if cutover is not None:
        return TimeCutover(history.time, parse_instant(cutover, schema.unit, schema.zone, name=history.time,
                                                       where=where, rounding="up"))
    for key in keys:
        schema.type_of(key, where=where)
    if dedup_window is None:
        raise PlanError("keys are compared within a span of time.", where=where, hint='such as dedup_window="1h"')
    span_ticks = duration_ticks(dedup_window, schema.unit, where=where)
    latest = max(ticks or 0 for late in (history.disorder, feed.disorder) for ticks in (late.reorder_latency, late.lag))
    if span_ticks < latest:  # what the history has and the feed sends again may be as late as that
        raise PlanError(f"dedup_window={dedup_window!r} is shorter than rows may be late: rows would come twice.",
                        where=where,
                        hint=f"{quote_ticks(latest, schema.unit)} or more, which both are promised to keep")
    return KeyCutover(keys, span_ticks)

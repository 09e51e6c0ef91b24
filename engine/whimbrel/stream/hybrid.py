"""Validate the arguments of ``history.then(feed)``."""

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

_WAYS = 'Use offset="n", or keys=["id"] with dedup_window="1h", or cutover="2024-01-01".'


def hybrid_source(history: object, feed: object, *, offset: str | None, partition: str | None, keys: Sequence[str],
              dedup_window: Duration | None, cutover: Instant | None) -> HybridSource:
    """See :meth:`whimbrel.Stream.then`."""
    where = "then(...)"
    if not isinstance(history, Source) or history.live:
        raise PlanError("then() needs a history without further steps.", where=where,
                        hint="Combine first, then run the query on both: query.on(log.then(feed, ...)).")
    if not isinstance(feed, Feed):
        raise PlanError("then() needs a feed without further steps.", where=where,
                        hint="Pass the feed itself, such as wb.feeds.kafka(...).")
    for field in history.schema:
        if field.name not in feed.schema:
            raise SchemaError(f"The feed has no column {field.name!r}, which the history has.", where=where,
                              hint="Drop it from the history, or add it to the feed.")
        if (type_ := feed.schema.type_of(field.name)) != field.type:
            raise SchemaError(f"{field.name!r} is {field.type} in the history and {type_} in the feed.", where=where,
                              hint=f"Cast it to {type_} in the history."
                              if field.name in feed.metadata_columns.names
                              else "Give the feed the schema of the history.")
    if (history.time, history.schema.time_type) != (feed.time, feed.schema.time_type):
        raise SchemaError("The history and the feed have different time columns or units.",
                          where=where, hint="Use the same time= and type in both.")
    if feed.numbered:
        raise PlanError("Row numbers of the feed start at 0, so they cannot continue a history.", where=where,
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
        raise PlanError("then() needs exactly one of offset=, keys= and cutover=.", where=where, hint=_WAYS)
    if offset is not None:
        if not pa.types.is_integer(schema.type_of(offset, where=where)):
            raise SchemaError(f"offset must name an integer column, got {offset!r} of type {schema.type_of(offset)}.",
                              where=where, hint=_WAYS)
        if partition is not None:
            schema.type_of(partition, where=where)
        return OffsetCutover(offset, partition)
    if cutover is not None:
        return TimeCutover(history.time, parse_instant(cutover, schema.unit, schema.zone, name=history.time,
                                                       where=where, rounding="up"))
    for key in keys:
        schema.type_of(key, where=where)
    if dedup_window is None:
        raise PlanError("keys= needs dedup_window=.", where=where, hint='Add dedup_window="1h".')
    span_ticks = duration_ticks(dedup_window, schema.unit, where=where)
    latest = max(ticks or 0 for late in (history.disorder, feed.disorder) for ticks in (late.reorder_latency, late.lag))
    if span_ticks < latest:  # what the history has and the feed sends again may be as late as that
        raise PlanError(f"dedup_window must be at least the reorder latency, got {dedup_window!r}.",
                        where=where,
                        hint=f"Use {quote_ticks(latest, schema.unit)} or more.")
    return KeyCutover(keys, span_ticks)

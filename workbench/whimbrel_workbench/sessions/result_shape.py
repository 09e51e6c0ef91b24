"""Columns, keys and samples of a result, from its plan."""

from __future__ import annotations

import pyarrow as pa

from whimbrel.errors import WhimbrelError
from whimbrel.operators import GroupAggregate
from whimbrel.plan import Sampling
from whimbrel.stream import LatencyBands, Stream
from whimbrel_workbench.frames import ColumnRoles, FrameBuilder, Options
from whimbrel_workbench.frames.signal_store import ReadAgain
from whimbrel_workbench.sessions.group_columns import grouped_by


def columns_of(query: Stream | LatencyBands, options: Options) -> ColumnRoles:
    """Which columns of the result a view of the query shows, and as what."""
    return frame_builder(query, options).columns(columns_and_keys(query)[0])


def frame_builder(query: Stream | LatencyBands, options: Options) -> FrameBuilder:
    """What draws the result of a query."""
    keys = columns_and_keys(query)[1]
    return FrameBuilder(options, keys, is_raw(query), is_alone(query), *sampling_of(query, options), reader_of(query))


def reader_of(query: Stream | LatencyBands) -> ReadAgain | None:
    """What reads a range of ticks of a result again; None for feeds, which give their rows once."""
    if not isinstance(query, Stream) or any(source.live for source in query.sources):
        return None

    def read(first: int, stop: int) -> pa.Table | None:
        try:
            return query.between(first, stop).collect()
        except WhimbrelError:
            return None  # extremes stay, and the run itself says what is wrong

    return read


def is_raw(query: Stream | LatencyBands) -> bool:
    """Whether the result is events as they came: several may be true at a time, and nothing was aggregated."""
    answer = query if isinstance(query, Stream) else query[-1]
    aggregated = any(isinstance(node.op, GroupAggregate) for node in answer.node.walk())
    return not aggregated and not columns_and_keys(query)[1] and answer.node.properties.apart is None


def sampling_of(query: Stream | LatencyBands, options: Options) -> tuple[Sampling | None, frozenset[str]]:
    """The sampling of a result that is a signal, and columns with times; other results only if it is asked for."""
    answer = query if isinstance(query, Stream) else query[-1]
    known = answer.node.properties
    signal = options.kind in ("scope", "spectrogram") or (options.x is None and options.C is None and (
        known.points or known.duration == 1))
    return known.sampling if signal else None, frozenset(
        source.time for source in answer.sources if isinstance(source.time, str))


def is_alone(query: Stream | LatencyBands) -> bool:
    """Whether the result is an aggregate of all events, which has one row at a time."""
    node = (query if isinstance(query, Stream) else query[-1]).node
    apart = node.properties.apart
    return apart is not None and not apart.per and any(isinstance(each.op, GroupAggregate) for each in node.walk())


def columns_and_keys(query: Stream | LatencyBands) -> tuple[pa.Schema, tuple[str, ...]]:
    """Columns of the result, and those that the query groups by, whatever their type."""
    answer = query if isinstance(query, Stream) else query[-1]
    instant = answer.schema.time_type
    payload = [pa.field(field.name, field.type) for field in answer.schema]
    keys = tuple(name for name in grouped_by(answer.node) if name in answer.schema)
    return pa.schema([pa.field("start", instant), pa.field("end", instant), *payload]), keys

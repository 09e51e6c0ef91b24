"""Base class of feeds, which differ only in their clients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter, signature
from itertools import count
from time import monotonic
from typing import Any, Unpack

import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.connect.addresses import shown_cause, without_secrets
from whimbrel.connect.feeds.formats.arrow_format import RecordBatchFormat
from whimbrel.connect.feeds.formats.decode import UNREADABLE, Format, reason
from whimbrel.connect.feeds.runtime.buffered_reader import BufferedFeedReader
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.dead_letter_queue import DeadLetterQueue
from whimbrel.connect.feeds.runtime.feed_config import FeedConfig
from whimbrel.connect.feeds.runtime.overload import WidenHop
from whimbrel.connect.feeds.runtime.read_options import FeedOptions, ReadOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields, Rules, fields_given, fields_inferred
from whimbrel.connect.tables.lifetime_columns import Timeline
from whimbrel.connect.tables.pandas_index import data_fields
from whimbrel.connect.tables.time_column_markers import (
    ARRIVAL_COLUMN,
    SEQUENCE,
    SEQUENCE_COLUMN,
    WALL_CLOCK,
    check_free,
    is_stated,
)
from whimbrel.errors import PlanError, SchemaError, SourceError, WhimbrelError
from whimbrel.plan import OverloadSignal, Source, SourceOffset

_SAMPLE_MESSAGES = 1000


class Feed(Source):
    """An unbounded source with a connection.

    Parameters
    ----------
    kind : str
        Name of the function in ``wb.feeds``, such as ``"kafka"``.
    time : str
        The event-time column.
    schema : pyarrow.Schema or mapping of str to type, optional
        Schema of the messages. Default: inferred from the first messages, which are read now.
    format : Format, optional
        Format of the messages; None if the client delivers record batches.
    metadata_columns : pyarrow.Schema, optional
        Columns that the client adds.

    Raises
    ------
    PlanError
        For an unknown or invalid option.
    SchemaError
        For a missing time column, or without messages to infer a schema from.
    """

    live = True
    lost: tuple[type[Exception], ...] = (OSError, EOFError, TimeoutError)
    """Exceptions of a client that mean a lost connection; the feed reconnects."""

    forgets: bool = False
    """Whether the broker deletes acknowledged messages."""

    columns: Format = RecordBatchFormat()
    """Converts record batches to rows of the schema."""

    def __init__(self, kind: str, *, time: str, schema: Fields | None, format: Format | None,
                 metadata_columns: pa.Schema | None = None, **options: Unpack[FeedOptions]) -> None:
        self.call = f"feeds.{kind}(..., time={time!r})"
        own = [each.name for each in signature(type(self).__init__).parameters.values()
               if each.name != "self" and each.kind is not Parameter.VAR_KEYWORD]
        self.read_options = chosen = ReadOptions.validated(options, own, self.call)
        self.name = chosen.name or kind
        self.format = format
        self.dead_letters = DeadLetterQueue()
        self.metadata_columns = pa.schema([]) if metadata_columns is None else metadata_columns
        self.value_fields = (
            fields_given(schema, self.call) if schema is not None else
            fields_inferred(data_fields(self._sampled(chosen.schema_sample_s), (time, *chosen.columns)), self.call))
        fields = pa.schema([*self.value_fields, *self.metadata_columns])
        self.arrival_column = chosen.arrival_column
        time, made = self._made(time, fields.names)
        fields = pa.schema([*fields, *made])
        if self.arrival_column is not None and not (made and self.arrival_column == time):
            fields = fields.append(pa.field(self.arrival_column, _clock_type(fields, time, self.call)))
        self.fields = fields
        self.arrival = chosen.arrival or self.arrival_column
        self.timeline = Timeline.of(fields, time=time, end=chosen.end, arrival=self.arrival, where=self.call)
        self.schema, self.time = self.timeline.schema, time
        self.longest = 1 if chosen.end is None else None
        self.hidden = self.timeline.hidden
        self.disorder = chosen.ordering(self.schema, self.call)
        self.rules = Rules.of(self.timeline, chosen.max_ahead)
        if chosen.overload is not None:
            chosen.overload.check(self.schema.names, where=self.call)
        if isinstance(rule := chosen.overload, WidenHop):
            self.relief = OverloadSignal(rule.ticks(self.schema.unit))

    @property
    def reader_config(self) -> FeedConfig:
        """Settings for a reader."""
        return FeedConfig(
            self.name, self.call, self.connect, self.lost, self.forgets, self.read_options, self.format, self.columns,
            self.rules, self.dead_letters, self.timeline, self.fields, self.value_fields, self.metadata_columns,
            self.arrival_column, self.numbered, self.disorder.partition, self.relief)

    def _made(self, time: str, names: Sequence[str]) -> tuple[str, list[pa.Field]]:
        """The event-time column, and its field if the feed makes it from row numbers or the wall clock."""
        self.numbered = is_stated(time, SEQUENCE)
        if not self.numbered and not is_stated(time, WALL_CLOCK):
            return time, []
        if self.read_options.end is not None:
            raise PlanError("end= needs an event-time column.", where=self.call,
                            hint="Use time= with the name of a column, or remove end=.")
        name, type_ = SEQUENCE_COLUMN, pa.int64()
        if not self.numbered:
            name, type_ = self.arrival_column or ARRIVAL_COLUMN, pa.timestamp("us", "UTC")
            self.arrival_column = name
        check_free(name, names, self.call)
        return name, [pa.field(name, type_)]

    @abstractmethod
    def connect(self, offset: Offset) -> Client:
        """Connect a client that starts after an offset; None: at the start that the user chose."""

    def offset_after(self, offset: str, within: str | None, last: Mapping[Any, int]) -> Offset:
        """The offset after rows with these values, if the columns are metadata of the broker; else None."""
        return None

    def part_of(self, offset: str) -> str | None:
        """The column of partitions within which an offset column counts, if it is metadata of the broker."""
        return None

    def of_one_part(self, offset: str) -> Feed:
        """A copy that refuses to read several partitions, if this offset counts within partitions."""
        return self

    def check_parts(self) -> None:
        """Refuse several partitions where one is required, if their number is known now."""

    def is_another(self, before: Offset, after: Offset) -> bool:
        """Whether the topic or stream was recreated between two offsets, so that they cannot be compared."""
        return False

    def connect_for_sample(self) -> Client:
        """Connect a client for a schema sample, which takes no messages from other readers."""
        return self.connect(None)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        start = None
        if isinstance(offset, SourceOffset):
            start = offset.offset
        elif offset:
            raise SourceError(f"{self.name} cannot resume at row {offset:,}: a feed needs its own offset.",
                              where=self.call, hint="Use a checkpoint, which saves the offset.")
        self.schema.select(columns)
        return BufferedFeedReader(self.reader_config, tuple(columns), start, int(offset))

    def _sampled(self, seconds: float) -> pa.Schema:
        """Infer the schema from the first messages."""
        try:
            client = self.connect_for_sample()
            try:
                return self._schema_of(self._sample(client, monotonic() + seconds))
            finally:
                client.close()
        except WhimbrelError:
            raise
        except Exception as error:  # noqa: BLE001 - libraries raise errors of their own
            raise SourceError(f"{self.name} cannot be reached: {without_secrets(error)}.", where=self.call,
                              hint="Check the address, or use schema=... to start without the server."
                              ) from shown_cause(error)

    def _sample(self, client: Client, until: float) -> MessageBatch:
        found: list[Any] = []
        for _ in count():
            try:
                came = client.receive(0.2)
            except EOFError:
                break
            if came is not None and isinstance(came.messages, pa.RecordBatch):
                return came
            if came is not None:
                found += came.messages
            if len(found) >= _SAMPLE_MESSAGES or (found and came is None) or monotonic() > until:
                break
        return MessageBatch(found[:_SAMPLE_MESSAGES])

    def _schema_of(self, sample: MessageBatch) -> pa.Schema:
        if isinstance(sample.messages, pa.RecordBatch):
            return sample.messages.schema
        if not sample.messages:
            raise SchemaError(f"Cannot infer a schema because no message arrived within "
                              f"{self.read_options.schema_sample_s:g} s.", where=self.call,
                              hint='Use for example schema={"at": "timestamp[ms]", "price": "double"}.')
        assert self.format is not None
        errors: list[str] = []
        for messages in (sample.messages, *([message] for message in sample.messages[:20])):
            try:
                return self.format.infer(messages)
            except UNREADABLE as error:
                errors.append(reason(error))
        raise SchemaError(f"Cannot infer a schema from the messages: {errors[0]}", where=self.call,
                          hint="Use schema=..., or another format=.")


def _clock_type(fields: pa.Schema, time: str, where: str) -> pa.DataType:
    """Type of the wall clock column: that of event time, with its unit and zone."""
    known = Timeline.of(fields, time=time, end=None, arrival=None, where=where)
    return known.schema.time_type

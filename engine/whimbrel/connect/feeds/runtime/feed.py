"""What all feeds have in common: they differ only in their clients."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter, signature
from itertools import count
from time import monotonic
from typing import Any, TypedDict, Unpack

import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.clock import Duration
from whimbrel.connect.addresses import shown_cause, without_secrets
from whimbrel.connect.feeds.formats.arrow_format import RecordBatchFormat
from whimbrel.connect.feeds.formats.decode import UNREADABLE, Format, reason
from whimbrel.connect.feeds.runtime.buffered_reader import BufferedFeedReader
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset
from whimbrel.connect.feeds.runtime.dead_letter_queue import DeadLetterQueue
from whimbrel.connect.feeds.runtime.overload import Overload, WidenHop
from whimbrel.connect.feeds.runtime.read_options import ReadOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields, Rules, fields_given, fields_inferred
from whimbrel.connect.ordering import ordering_spec
from whimbrel.connect.partitions import PartitionWatermarks, by_of, in_partitions
from whimbrel.connect.tables.lifetime_columns import Timeline
from whimbrel.connect.tables.pandas_index import data_fields
from whimbrel.connect.tables.time_column_markers import (
    ARRIVAL_COLUMN,
    SEQUENCE,
    SEQUENCE_COLUMN,
    WALL_CLOCK,
    check_free,
    in_file_order,
    is_stated,
)
from whimbrel.connect.validation import check_name
from whimbrel.errors import PlanError, SchemaError, SourceError, WhimbrelError, near_match
from whimbrel.plan import OverloadSignal, Source, SourceOffset

_SAMPLE_MESSAGES = 1000


class FeedOptions(TypedDict, total=False):
    """What every feed can be told beside its address.

    Attributes
    ----------
    end, arrival : str
        When events end; when rows became known.
    arrival_column : str
        A column to add, with the time at which each row was received. It is the arrival, unless that is said.
    reorder_latency : str, timedelta or int
        How late a row may be; default: nothing.
    late : {"drop", "adjust", "side_output", "raise"}
        What happens to later rows; default: "drop". They are counted.
    partition : str or PartitionWatermarks
    max_ahead : str, timedelta or int
        How far a row's time may be ahead of the clock; rows beyond it become dead letters, so that one wrong clock
        does not make all others late. Integers are taken to be seconds since 1970.
    idle_timeout : str, timedelta or float (seconds)
        How long without a row until time goes on without it, as fast as the clock does; or without a partition,
        as fast as the others do. Default: never, since rows that were held up, or tell of another time than now, would
        be late.
    queue_rows, queue_bytes : int
        Rows that may wait for the query, and their bytes in memory, whichever is reached first; then the client is held
        back. Default: 262,144 rows, 64 MiB. What a client gives at once is never parted, so there may be so much more;
        and it has some of its own on the way, which is bounded, too.
    overload : Overload
        Give up rows by a rule, instead of holding the client back.
    retry_backoff_s : (float, float)
        The first wait before a lost connection is tried again, and the longest. Default: 0.25 and 5 seconds.
    schema_sample_s : float
        How long to wait for messages to infer a schema from.
    name : str
    """

    end: str | None
    arrival: str | None
    arrival_column: str | None
    reorder_latency: Duration | None
    late: str | None
    partition: str | PartitionWatermarks | None
    max_ahead: Duration | None
    idle_timeout: float | Duration | None
    queue_rows: int
    queue_bytes: int
    overload: Overload | None
    retry_backoff_s: tuple[float, float]
    schema_sample_s: float
    name: str


class Feed(Source):
    """Rows that come from outside, while they come.

    Parameters
    ----------
    kind : str
        What the user called, such as ``"kafka"``.
    time : str
        The event-time column.
    schema : pyarrow.Schema or mapping of str to type, optional
        What a message holds. Without it some messages are read now, and their schema is what all others must have.
    format : Format, optional
        How messages are written; None where the client gives rows.
    metadata_columns : pyarrow.Schema, optional
        Columns that the client adds.

    Raises
    ------
    PlanError
        When it is told something that no such feed can be told.
    SchemaError
        When there is no such time column, or no message to infer a schema from.
    """

    live = True
    lost: tuple[type[Exception], ...] = (OSError, EOFError, TimeoutError)
    """What a client raises when its connection is lost: another one is tried."""

    forgets: bool = False
    """Whether its broker does not give again what it was told is safe."""

    columns: Format = RecordBatchFormat()
    """How record batches become rows of the schema."""

    def __init__(self, kind: str, *, time: str, schema: Fields | None, format: Format | None,
                 metadata_columns: pa.Schema | None = None, **options: Unpack[FeedOptions]) -> None:
        self.call = f"feeds.{kind}(..., time={time!r})"
        self._check_names(options)
        self.pace = ReadOptions.of(options, self.call)
        self.name = options.get("name") or kind
        self.format = format
        self.dead_letters = DeadLetterQueue()
        self.metadata_columns = pa.schema([]) if metadata_columns is None else metadata_columns
        wanted = (time, options.get("end"), options.get("arrival"), by_of(options.get("partition")))
        self.value_fields = (fields_given(schema, self.call) if schema is not None else
                             fields_inferred(data_fields(self._sampled(self.pace.schema_sample_s), wanted), self.call))
        fields = pa.schema([*self.value_fields, *self.metadata_columns])
        self.arrival_column = options.get("arrival_column")
        time, made = self._made(time, options, fields.names)
        fields = pa.schema([*fields, *made])
        if self.arrival_column is not None and not (made and self.arrival_column == time):
            fields = fields.append(pa.field(self.arrival_column, _clock_type(fields, time, self.call)))
        self.fields = fields
        if in_file_order(options.get("arrival")):
            raise PlanError("Rows of a feed come in the order of their arrival anyway.", where=self.call,
                            hint="leave arrival= out; wb.FILE_ORDER is for logs in files and tables")
        self.arrival = options.get("arrival") or self.arrival_column
        end = options.get("end")
        self.timeline = Timeline.of(fields, time=time, end=end, arrival=self.arrival, where=self.call)
        self.schema, self.time = self.timeline.schema, time
        self.longest = 1 if end is None else None
        self.hidden = self.timeline.hidden
        self.disorder = in_partitions(
            ordering_spec(options.get("reorder_latency"), options.get("late") or "drop", self.schema.unit, default=0,
                    where=self.call), options.get("partition"), self.schema, where=self.call)
        self.rules = Rules.of(self.timeline, options.get("max_ahead"))
        if self.pace.overload is not None:
            self.pace.overload.check(self.schema.names, where=self.call)
        if isinstance(rule := self.pace.overload, WidenHop):
            self.relief = OverloadSignal(rule.ticks(self.schema.unit))

    def _made(self, time: str, options: FeedOptions, names: Sequence[str]) -> tuple[str, list[pa.Field]]:
        """The event-time column, and that column where the feed makes it: of row numbers, or of the wall clock."""
        self.numbered = is_stated(time, SEQUENCE)
        if not self.numbered and not is_stated(time, WALL_CLOCK):
            return time, []
        if options.get("end") is not None:
            raise PlanError("An end needs an event time of its own.", where=self.call,
                            hint="Name the event-time column, or leave end= out.")
        name, type_ = SEQUENCE_COLUMN, pa.int64()
        if not self.numbered:
            name, type_ = self.arrival_column or ARRIVAL_COLUMN, pa.timestamp("us", "UTC")
            self.arrival_column = name
        check_free(name, names, self.call)
        return name, [pa.field(name, type_)]

    def _check_names(self, options: FeedOptions) -> None:
        """Whether all that was told is something that a feed can be told."""
        for name in options.keys() - FeedOptions.__annotations__.keys():
            own = {each.name for each in signature(type(self).__init__).parameters.values()
                   if each.kind is not Parameter.VAR_KEYWORD} - {"self"}
            raise PlanError(f"{name}=... is nothing that this feed can be told.", where=self.call,
                            hint=near_match(name, sorted(own | FeedOptions.__annotations__.keys()), noun="option"))
        if options.get("name") is not None:
            check_name("name", options["name"], where=self.call)

    @abstractmethod
    def connect(self, offset: Offset) -> Client:
        """A connection that begins behind a place; None: where the feed begins, as the user said."""

    def offset_after(self, offset: str, within: str | None, last: Mapping[Any, int]) -> Offset:
        """The place behind rows with these offsets, where the columns are those that the broker itself has."""
        return None

    def part_of(self, offset: str) -> str | None:
        """The column within whose values an offset counts, where it is the broker's own."""
        return None

    def of_one_part(self, offset: str) -> Feed:
        """The feed, refused where the broker has several parts and numbers the rows of each by this offset."""
        return self

    def check_parts(self) -> None:
        """Refuse parts that there may not be, if it is known now how many there are."""

    def is_another(self, before: Offset, after: Offset) -> bool:
        """Whether what is read was made anew between two places, so that offsets of one say nothing of the other."""
        return False

    def connect_for_sample(self) -> Client:
        """A connection for a sample, which takes nothing from others; default: where the feed begins."""
        return self.connect(None)

    def read(self, columns: Sequence[str], offset: int = 0) -> Iterator[Batch | None]:
        start = None
        if isinstance(offset, SourceOffset):
            start = offset.offset
        elif offset:
            raise SourceError(f"{self.name} cannot be read on from row {offset:,}.", where=self.call,
                              hint="a feed goes on from a checkpoint, which knows its place")
        self.schema.select(columns)
        return BufferedFeedReader(self, tuple(columns), start, int(offset))

    def _sampled(self, seconds: float) -> pa.Schema:
        """The schema of the first messages that come."""
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
                              hint="give schema=..., so that it need not be there yet; or look at the address"
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
            raise SchemaError("No message came to infer a schema from.", where=self.call,
                              hint='give one: schema={"at": "timestamp[ms]", "price": "double"}')
        assert self.format is not None
        errors: list[str] = []
        for messages in (sample.messages, *([message] for message in sample.messages[:20])):
            try:
                return self.format.infer(messages)
            except UNREADABLE as error:
                errors.append(reason(error))
        raise SchemaError(f"The schema of its messages cannot be inferred: {errors[0]}", where=self.call,
                          hint="give schema=...; or another format=")


def _clock_type(fields: pa.Schema, time: str, where: str) -> pa.DataType:
    """The type in which the clock is told: that of event time, in its unit and zone."""
    known = Timeline.of(fields, time=time, end=None, arrival=None, where=where)
    return known.schema.time_type

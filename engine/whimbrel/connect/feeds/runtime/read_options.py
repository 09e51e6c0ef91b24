"""Options that every feed has, validated in one place."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypedDict

from whimbrel.batch import Schema
from whimbrel.clock import Duration
from whimbrel.connect.feeds.runtime.overload import Overload
from whimbrel.connect.ordering import ordering_spec
from whimbrel.connect.partition_watermarks import PartitionWatermarks, by_of, in_partitions
from whimbrel.connect.tables.time_column_markers import in_file_order
from whimbrel.connect.validation import check_name, checked_seconds, is_seconds, is_whole
from whimbrel.errors import PlanError, near_match
from whimbrel.migration_hints import FEED_OPTIONS
from whimbrel.plan import OrderingSpec


class FeedOptions(TypedDict, total=False):
    """Options of every feed, in addition to its address.

    Attributes
    ----------
    end : str
        Column with the end of each event. Default: events last one tick.
    arrival : str
        Column with the arrival time of each row.
    arrival_column : str
        Column to add with the time at which the feed received each row. It is the arrival time, unless `arrival` names
        another column.
    reorder_latency : str, timedelta or int (ticks)
        How far out of order an on-time row may be. Default: 0.
    late : {"drop", "adjust", "side_output", "raise"}
        What happens to late rows. Default: "drop". They are counted.
    partition : str or PartitionWatermarks
        Column of partitions that are in order by themselves.
    max_ahead : str, timedelta or int (ticks)
        How far an event time may be after the wall clock. Rows beyond it become dead letters, so one wrong clock does
        not make all other rows late. Integers count seconds since 1970. Default: any time is accepted.
    idle_timeout : str, timedelta or float (seconds)
        Time without a row after which the feed is idle and no longer delays the watermark. The watermark then advances
        with the wall clock, or, before the first row, with the other inputs. Default: never, because delayed rows
        would become late.
    queue_rows : int
        Rows that the feed buffers before it applies backpressure. Default: 262,144. A message batch is never split, so
        the buffer may exceed this by one batch.
    queue_bytes : int
        Bytes that the feed buffers before it applies backpressure. Default: 64 MiB.
    overload : Overload
        Load-shedding rule to apply instead of backpressure. Default: none.
    retry_backoff_s : (float, float)
        First and longest wait before a reconnect, in seconds. Default: (0.25, 5.0).
    schema_sample_s : float
        Longest wait for messages to infer a schema from, in seconds. Default: 5.0.
    name : str
        Name of the feed in plans, metrics and errors.
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


@dataclass(frozen=True)
class ReadOptions:
    """Validated options of a feed, with defaults. See :class:`FeedOptions`."""

    end: str | None = None
    arrival: str | None = None
    arrival_column: str | None = None
    reorder_latency: Duration | None = None
    late: str | None = None
    partition: str | PartitionWatermarks | None = None
    max_ahead: Duration | None = None
    idle_after_s: float | None = None
    queue_rows: int = 1 << 18
    queue_bytes: int = 64 << 20
    overload: Overload | None = None
    retry_backoff_s: tuple[float, float] = (0.25, 5.0)
    schema_sample_s: float = 5.0
    name: str | None = None

    @staticmethod
    def validated(options: FeedOptions, own: Collection[str], where: str) -> ReadOptions:
        """Validate the options that a user passed to a feed.

        Parameters
        ----------
        options : dict
        own : collection of str
            Names of the other options that this feed has, for the hint.
        where : str
            The user's call, for errors.

        Raises
        ------
        PlanError
            For an unknown option or an invalid value.
        """
        for name in options.keys() - FeedOptions.__annotations__.keys():
            known = sorted({*own, *FeedOptions.__annotations__})
            present = FEED_OPTIONS.get(name)
            raise PlanError(f"This feed has no option {name!r}.", where=where,
                            hint=f"Use {present}=." if present in known else near_match(name, known, noun="option"))
        if options.get("name") is not None:
            check_name("name", options["name"], where=where)
        if in_file_order(options.get("arrival")):
            raise PlanError("wb.FILE_ORDER is for logs in files and tables; rows of a feed are in arrival order.",
                            where=where, hint="Remove arrival=.")
        for role in ("end", "arrival", "arrival_column"):
            if options.get(role) is not None:
                check_name(role, options[role], where=where)
        idle = options.get("idle_timeout")
        idle_s = None if idle is None else checked_seconds("idle_timeout", idle, where=where)
        shared = {name: value for name, value in options.items() if name != "idle_timeout"}
        made = ReadOptions(**shared, idle_after_s=idle_s)  # type: ignore[arg-type]  # checked below
        made._check(where)
        return made

    def _check(self, where: str) -> None:
        for name, rows in (("queue_rows", self.queue_rows), ("queue_bytes", self.queue_bytes)):
            if not is_whole(rows) or rows < 1:
                raise PlanError(f"{name} must be an integer of at least 1, got {rows!r}.", where=where,
                                hint=f"Use for example {name}=100_000.")
        if self.overload is not None and not isinstance(self.overload, Overload):
            raise PlanError(f"overload must be a load-shedding rule, got {self.overload!r}.", where=where,
                            hint='Use wb.feeds.Sample(0.1), wb.feeds.Conflate("key") or wb.feeds.WidenHop("1s").')
        waits = self.retry_backoff_s
        if not (isinstance(waits, tuple | list) and len(waits) == 2 and all(map(is_seconds, waits))
                and waits[0] <= waits[1]):
            raise PlanError("retry_backoff_s must be the first and the longest wait in seconds, in this order, "
                            f"got {waits!r}.", where=where, hint="Use for example retry_backoff_s=(0.25, 5.0).")
        if not is_seconds(self.schema_sample_s):
            raise PlanError(f"schema_sample_s must be a positive number of seconds, got {self.schema_sample_s!r}.",
                            where=where, hint="Use for example schema_sample_s=5.0.")

    @property
    def columns(self) -> tuple[str | None, ...]:
        """Columns that the options name."""
        return self.end, self.arrival, by_of(self.partition)

    def ordering(self, schema: Schema, where: str) -> OrderingSpec:
        """Order of the rows of a feed with this schema.

        Raises
        ------
        PlanError
            For an invalid reorder latency, late policy or partition.
        """
        spec = ordering_spec(self.reorder_latency, self.late or "drop", schema.unit, default=0, where=where)
        return in_partitions(spec, self.partition, schema, where=where)

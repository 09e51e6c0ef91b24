"""Settings of a feed that its reader needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from whimbrel.connect.feeds.formats.decode import Format
from whimbrel.connect.feeds.runtime.client import Client, Offset
from whimbrel.connect.feeds.runtime.dead_letter_queue import DeadLetterQueue
from whimbrel.connect.feeds.runtime.read_options import ReadOptions
from whimbrel.connect.feeds.runtime.row_validation import Rules
from whimbrel.connect.tables.lifetime_columns import Timeline
from whimbrel.plan import OverloadSignal


@dataclass(frozen=True)
class FeedConfig:
    """A feed as its reader sees it.

    Attributes
    ----------
    name, call : str
        Name of the feed, and the user's call for errors.
    connect : callable
        Makes a client that begins after an offset.
    lost : tuple of exception types
        Exceptions that mean a lost connection; the reader reconnects.
    forgets : bool
        Whether the broker deletes acknowledged messages.
    options : ReadOptions
    format : Format or None
        Format of messages; None if the client delivers record batches.
    batch_format : Format
        Converts record batches to rows of the schema.
    rules : Rules
    dead_letters : DeadLetterQueue
    timeline : Timeline
    fields : pyarrow.Schema
        All columns.
    value_fields : pyarrow.Schema
        Columns of the message values.
    metadata_columns : pyarrow.Schema
        Columns that the client adds.
    arrival_column : str or None
        Column that the reader adds with the arrival time.
    numbered : bool
        Whether the event time is a row number that the reader adds.
    partition : str or None
        Column of the partitions.
    relief : OverloadSignal or None
    """

    name: str
    call: str
    connect: Callable[[Offset], Client]
    lost: tuple[type[Exception], ...]
    forgets: bool
    options: ReadOptions
    format: Format | None
    batch_format: Format
    rules: Rules
    dead_letters: DeadLetterQueue
    timeline: Timeline
    fields: pa.Schema
    value_fields: pa.Schema
    metadata_columns: pa.Schema
    arrival_column: str | None
    numbered: bool
    partition: str | None
    relief: OverloadSignal | None

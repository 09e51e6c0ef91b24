"""Arrow Flight streams as feeds."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Unpack

import pyarrow as pa

from whimbrel.connect.feeds.runtime.client import Client, MessageBatch, Offset, ThreadedClient
from whimbrel.connect.feeds.runtime.feed import Feed
from whimbrel.connect.feeds.runtime.read_options import FeedOptions
from whimbrel.connect.feeds.runtime.row_validation import Fields
from whimbrel.connect.serve_protocol import LEVEL, ROW, RUN
from whimbrel.errors import PlanError, SourceError


class FlightFeed(Feed):
    """Feed of a Flight server, such as that of :func:`whimbrel.serve`.

    It reads record batches.

    Parameters
    ----------
    address : str
        ``"grpc://host:port"`` or ``"grpc+tls://host:port"``.
    ticket : str
        Ticket of the stream. Default: the only stream of the server.
    time : str
        The event-time column.
    token : str, optional
        Sent as a bearer token.
    schema : pyarrow.Schema or mapping of str to type, optional
        Default: the schema of the stream, requested now.
    **options
        Options of every feed. See :class:`whimbrel.connect.feeds.runtime.read_options.FeedOptions`.

    Notes
    -----
    A server of :func:`whimbrel.serve` numbers its rows; a reconnect resumes after the last row received.
    """

    level: str = ""

    def __init__(self, address: str, ticket: str = "", *, time: str, token: str | None = None,
                 schema: Fields | None = None, **options: Unpack[FeedOptions]) -> None:
        from pyarrow import flight

        self._flight: Any = flight
        if not isinstance(address, str) or not re.match(r"grpc(\+\w+)?://.", address):
            raise PlanError(f"The address of a Flight server must be a URI, got {address!r}."[:160],
                            where=f"feeds.flight({address!r})"[:80], hint='Use for example "grpc://localhost:8815".')
        self.address, self.ticket, self._token = address, ticket, token
        self._refusals = (flight.FlightUnauthenticatedError, flight.FlightUnauthorizedError)
        self.lost = (OSError, EOFError, TimeoutError, flight.FlightUnavailableError, flight.FlightTimedOutError,
                     flight.FlightCancelledError, flight.FlightInternalError)
        super().__init__("flight", time=time, schema=schema, format=None, **options)
        self.call = f"feeds.flight({address!r})"

    def of_level(self, level: str) -> FlightFeed:
        """A copy that reads the partial aggregates of one query only, by the id of its low level."""
        feed = copy.copy(self)
        feed.level, feed.call = level, f"high({self.address!r})"
        return feed

    def connect(self, offset: Offset) -> Client:
        flight = self._flight
        headers = [(b"authorization", f"Bearer {self._token}".encode())] if self._token else []
        row, run = (offset or 0, "") if isinstance(offset, int | None) else offset
        headers += [(name.encode(), str(value).encode()) for name, value in (
            (ROW, row), (RUN, run), (LEVEL, self.level)) if value != ""]
        opened = ExitStack()
        return ThreadedClient(self._received(opened, flight.FlightCallOptions(headers=headers), row), opened.close,
                      answered=False)

    def _received(self, opened: ExitStack, options: Any, row: int) -> Iterator[MessageBatch | None]:
        try:
            yield from self._chunks(opened, options, row)
        except self._refusals as error:
            raise self._refused(error, "Use the token= of the server.") from None
        except self._flight.FlightServerError as error:
            raise self._refused(error, "Fix the cause on the server, which reported this error.") from None
        except self._flight.FlightUnavailableError as error:
            raise ConnectionError(_said(error)) from None

    def _chunks(self, opened: ExitStack, options: Any, row: int) -> Iterator[MessageBatch | None]:
        run = ""
        link = self._flight.connect(self.address)
        reader = link.do_get(self._flight.Ticket(self.ticket.encode()), options)
        opened.callback(reader.cancel)
        yield None
        while True:
            try:
                chunk = reader.read_chunk()
            except StopIteration:
                return
            rows: pa.RecordBatch = chunk.data
            if chunk.app_metadata is not None:  # number of the first row, and the run, from a Whimbrel server
                first_row, _, run = chunk.app_metadata.to_pybytes().decode().partition(" ")
                row = int(first_row)
            row += rows.num_rows
            if rows.num_rows:
                yield MessageBatch(rows, [row, run] if run else row)

    def _refused(self, error: Exception, hint: str) -> SourceError:
        return SourceError(f"{self.address} refused to send rows: {_said(error)}.", where=self.call, hint=hint)


def _said(error: Exception) -> str:
    """What an error of Flight says; where and hint of the server do not apply here."""
    said = re.split(r"\.? (?:Detail|gRPC client debug context): ", str(error))[0]
    return said.splitlines()[0].rstrip(".").removeprefix("Flight returned unavailable error, with message: ")

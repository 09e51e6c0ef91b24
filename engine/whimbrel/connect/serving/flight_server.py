"""Arrow Flight server of settled rows."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import flight

from whimbrel.connect.serve_protocol import LEVEL, ROW, RUN
from whimbrel.connect.serving.broadcast_sink import Published
from whimbrel.errors import WhimbrelError


@dataclass(frozen=True)
class ServedLevel:
    """The low level of a query that is served.

    Attributes
    ----------
    id : str
        Equal for equal low levels.
    shown : str
        The low level in words.
    is_finished : callable
        Whether its sources have ended, so that its clients have all of it.
    """

    id: str
    shown: str
    is_finished: Callable[[], bool]


class FlightServer(flight.FlightServerBase):  # type: ignore[misc]
    """Serve one stream to clients with the token.

    Each batch has the number of its first row and the run as metadata, and a client may request rows from a number on.
    So :func:`whimbrel.feeds.flight` resumes after a lost connection.

    Parameters
    ----------
    rows : Published
    host : str
    port : int
        0: any free port.
    token : str
    failure : callable
        Returns the error of a failed query, else None.
    level : ServedLevel, optional
        The low level of a query whose partial aggregates these rows are.
    """

    def __init__(self, rows: Published, host: str, port: int, token: str,
                 failure: Callable[[], WhimbrelError | None], level: ServedLevel | None = None) -> None:
        self._rows, self._failure, self._level = rows, failure, level
        super().__init__(f"grpc://{host}:{port}", middleware={"caller": _Callers(token)})
        self.address = f"grpc://{host}:{self.port}"

    def get_flight_info(self, context: Any, descriptor: Any) -> Any:
        endpoint = flight.FlightEndpoint(b"", [self.address])
        return flight.FlightInfo(self._rows.schema, descriptor, [endpoint], -1, -1)

    def list_flights(self, context: Any, criteria: bytes) -> Iterator[Any]:
        yield self.get_flight_info(context, flight.FlightDescriptor.for_path("rows"))

    def list_actions(self, context: Any) -> list[Any]:
        return []

    def do_get(self, context: Any, ticket: Any) -> Any:
        caller_headers = context.get_middleware("caller").headers
        try:
            row = max(0, int(caller_headers.get(ROW, ["0"])[0]))
        except ValueError:
            raise flight.FlightServerError(f"{ROW} is not a number") from None
        self._check_level(caller_headers.get(LEVEL, [""])[0])
        run = caller_headers.get(RUN, [""])[0]
        return flight.GeneratorStream(self._rows.schema, self._read(row, context.is_cancelled, run))

    def _check_level(self, asked: str) -> None:
        """Refuse a client that merges the partial aggregates of another query."""
        if not asked or (self._level is not None and asked == self._level.id):
            return
        served = "no partial aggregates" if self._level is None else f"those of another query: {self._level.shown}"
        raise flight.FlightServerError(f"The high level needs the partial aggregates of its query, got {served}")

    def _read(self, row: int, is_disconnected: Callable[[], bool],
              run: str) -> Iterator[tuple[pa.RecordBatch, pa.Buffer]]:
        try:
            for first, rows in self._rows.read(row, is_disconnected, run):
                yield rows, pa.py_buffer(f"{first} {self._rows.run}".encode())
        except WhimbrelError as error:
            raise flight.FlightServerError(str(error)) from None
        if (failed := self._failure()) is not None:
            raise flight.FlightServerError(f"The query has failed: {failed}")
        if self._level is not None and not self._level.is_finished():
            raise flight.FlightUnavailableError("The low level was stopped")  # clients connect again


class _Callers(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Accept calls with the token."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._expected = f"Bearer {token}".encode()

    def start_call(self, info: Any, headers: Any) -> Any:
        caller_headers = {name.lower(): values for name, values in headers.items()}
        if not hmac.compare_digest(str(caller_headers.get("authorization", [""])[0]).encode(), self._expected):
            raise flight.FlightUnauthenticatedError("The token is missing, or another one.")
        return _Caller(caller_headers)


class _Caller(flight.ServerMiddleware):  # type: ignore[misc]
    def __init__(self, headers: dict[str, list[str]]) -> None:
        super().__init__()
        self.headers = headers

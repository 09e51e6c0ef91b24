"""A Flight server's stream: read with a token, and on from its row when the server was restarted."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import flight

import whimbrel as wb
from tests.engine.connect.feeds.listen import reading, until, values
from tests.engine.ended import ended

FIELDS = pa.schema([("at", pa.int64()), ("x", pa.int64())])


class Rows(flight.FlightServerBase):
    """Gives numbered rows from the one that is asked for, to whoever has the token."""

    def __init__(self, port: int, count: int, *, breaks: type[flight.FlightError] | None = None) -> None:
        super().__init__(f"grpc://127.0.0.1:{port}", middleware={"headers": _Headers()})
        self.count, self.breaks = count, breaks

    def do_get(self, context: Any, ticket: Any) -> Any:
        headers = context.get_middleware("headers").headers
        if headers["authorization"] != ["Bearer right"]:
            raise flight.FlightUnauthenticatedError("no token")
        first = int(headers["whimbrel-row"][0])

        def chunks() -> Any:
            for at in range(first, self.count):
                yield pa.record_batch([[at], [10 * at]], schema=FIELDS)
            if self.breaks:
                raise self.breaks("going down")

        return flight.GeneratorStream(FIELDS, chunks())


class _Headers(flight.ServerMiddlewareFactory):
    def start_call(self, info: Any, headers: Any) -> Any:
        return _ReceivedHeaders(headers)


class _ReceivedHeaders(flight.ServerMiddleware):
    def __init__(self, headers: Any) -> None:
        super().__init__()
        self.headers = headers


@pytest.mark.fault("flight", "broker stopped and restarted")
@pytest.mark.parametrize("breaks", [flight.FlightUnavailableError, flight.FlightInternalError])
def test_a_flight_stream_resumes_at_its_row_when_the_server_is_back(breaks: type[flight.FlightError]) -> None:
    with Rows(0, 3, breaks=breaks) as server:
        port = server.port
        feed = wb.feeds.flight(f"grpc://127.0.0.1:{port}", time="at", token="right", schema=FIELDS,
                               retry_backoff_s=(0.02, 0.1))
        going = ExitStack()
        found = going.enter_context(reading(feed))
        assert values(found, 3, "x") == [0, 10, 20]
        until(lambda: found.state.reconnects >= 1)
    with going, Rows(port, 5):
        assert values(found, 2, "x") == [30, 40]


def test_without_the_token_the_query_fails() -> None:
    with Rows(0, 3) as server:
        run = wb.feeds.flight(f"grpc://127.0.0.1:{server.port}", time="at", token="wrong", schema=FIELDS).start()
        assert ended(run, 30)
        assert run.state == "failed"
        assert "no token" in str(run.error)
        assert "wrong" not in str(run.error)

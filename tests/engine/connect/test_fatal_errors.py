"""Servers that let nobody in, and names that no server has: an error at once, in feeds and in sinks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from pyarrow import flight
from redis import Redis

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import PATIENCE_S, until
from tests.engine.ended import ended
from whimbrel.connect.fatal_errors import fatal_reason
from whimbrel.errors import SinkError

OPTIONS: Any = {"time": "at", "schema": {"at": "int64"}}
LOG = wb.from_arrow({"at": [1, 2, 3]}, time="at")


def fails(run: wb.Run, hint: str = "Check the user") -> None:
    assert ended(run, PATIENCE_S)
    assert run.error is not None
    assert hint in run.error.hint
    assert "hunter2" not in str(run.error)


def both_fail(feed: wb.Stream, sink: wb.sinks.Sink) -> None:
    fails(feed.start())
    try:
        fails(LOG.start(sink=sink))
    except SinkError as error:  # some say so when the run starts, others when they are written to
        assert "Check the user" in error.hint  # noqa: PT017


@pytest.mark.redis
def test_redis(tmp_path: Path) -> None:
    with servers.running(servers.redis(tmp_path)) as server:
        with Redis(port=server.port) as link:
            link.config_set("requirepass", "secret")
        for user in (":hunter2@", ""):
            url = f"redis://{user}127.0.0.1:{server.port}"
            both_fail(wb.feeds.redis("in", url, **OPTIONS), wb.sinks.redis("out", url))


@pytest.mark.nats
def test_nats(tmp_path: Path) -> None:
    def arguments(port: int, folder: Path) -> list[str]:
        return ["-a", "127.0.0.1", "-p", str(port), "--user", "ann", "--pass", "secret"]

    with servers.running(servers.Server("nats-server", arguments, tmp_path)) as server:
        url = f"nats://ann:hunter2@127.0.0.1:{server.port}"
        both_fail(wb.feeds.nats("in", url, **OPTIONS), wb.sinks.nats("out", url))


@pytest.mark.mosquitto
def test_mqtt(tmp_path: Path) -> None:
    def arguments(port: int, folder: Path) -> list[str]:
        (folder / "conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous false\n")
        return ["-c", str(folder / "conf")]

    with servers.running(servers.Server("mosquitto", arguments, tmp_path)) as server:
        url = f"mqtt://ann:hunter2@127.0.0.1:{server.port}"
        both_fail(wb.feeds.mqtt("in", url, **OPTIONS), wb.sinks.mqtt("out", url))


@pytest.mark.postgres
def test_postgres(tmp_path: Path) -> None:
    with servers.running(servers.postgres(tmp_path / "postgres")) as server:
        until(lambda: servers.accepts(f"postgresql://test@127.0.0.1:{server.port}/postgres"))
        url = f"postgresql://test:hunter2@127.0.0.1:{server.port}/nowhere"
        both_fail(wb.feeds.postgres("in", url, cursor="at", **OPTIONS), wb.sinks.postgres("out", url, key=["at"]))


@pytest.mark.parametrize("code", [401, 403])
@pytest.mark.parametrize("feed", [wb.feeds.http, wb.feeds.sse])
def test_http(code: int, feed: Callable[..., wb.Stream]) -> None:
    class Closed(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(code)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Closed) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        fails(feed(f"http://127.0.0.1:{server.server_port}/?key=hunter2", **OPTIONS).start())
        server.shutdown()


@pytest.mark.parametrize("refusal", [flight.FlightUnauthenticatedError, flight.FlightUnauthorizedError])
def test_flight(refusal: type[Exception]) -> None:
    class Closed(flight.FlightServerBase):  # type: ignore[misc]
        def do_get(self, *_: object) -> None:
            raise refusal("not you")

    with Closed("grpc://127.0.0.1:0") as server:
        fails(wb.feeds.flight(f"grpc://127.0.0.1:{server.port}", **OPTIONS).start(), "Use the token=")


@pytest.mark.parametrize("said", [
    "Error -2 connecting to h:1. Name or service not known.",
    "failed to resolve host 'h': [Errno -2] Name or service not known",
    "<urlopen error [Errno -2] Name or service not known>", "address lookup failed for h:1: Domain name not found"])
def test_a_name_that_no_server_has(said: str) -> None:
    assert fatal_reason(ConnectionError(said), before=False).startswith("Check the address")
    assert fatal_reason(ConnectionError(said), before=True) == ""


@pytest.mark.parametrize("said", [
    "[Errno -3] Temporary failure in name resolution", "FATAL:  the database system is starting up",
    "Connection refused", "HTTP Error 503: Service Unavailable", "refused: Server busy"])
def test_what_may_pass(said: str) -> None:
    assert fatal_reason(ConnectionError(said), before=False) == ""

"""Webhooks: a real server that fails at times gets each row, and numbers of rows make them unique."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, until
from tests.engine.connect.feeds.servers import free_port
from tests.engine.ended import ended
from whimbrel.errors import PlanError, SinkError


class Hook(BaseHTTPRequestHandler):
    """Takes what `answers` says, by status; 0 closes the connection after the request was taken."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        found = self.server.found  # type: ignore[attr-defined]
        answers = self.server.answers  # type: ignore[attr-defined]
        data = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = answers.pop(0) if answers else 200
        self.server.times.append(time.monotonic())  # type: ignore[attr-defined]
        if status in (0, 200):
            found.append((self.headers["Idempotency-Key"], data, self.headers["Authorization"]))
        if status == 0:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", "0")
        if status in self.server.retry_after:  # type: ignore[attr-defined]
            self.send_header("Retry-After", self.server.retry_after[status]())  # type: ignore[attr-defined]
        if status in (302, 307):
            self.send_header("Location", "/elsewhere")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@contextmanager
def hook(*answers: int, port: int = 0) -> Iterator[ThreadingHTTPServer]:
    server = ThreadingHTTPServer(("127.0.0.1", port), Hook)
    server.found, server.answers = [], [*answers]  # type: ignore[attr-defined]
    server.times, server.retry_after = [], {}  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def address(server: ThreadingHTTPServer) -> str:
    return f"http://ann:sEcReT@127.0.0.1:{server.server_port}/services/T0/sEcReT?key=sEcReT"


def log(rows: int) -> wb.Stream:
    return wb.from_arrow({"at": list(range(rows)), "x": [at * 2 for at in range(rows)]}, time="at")


def once(found: list[Any]) -> list[int]:
    """Values of rows, each number of a row once."""
    rows: dict[tuple[str, int], int] = {}
    for _, data, _ in found:
        for number, row in enumerate(data["rows"], data["first_row"]):
            assert rows.setdefault((data["run"], number), row["x"]) == row["x"]
    return [rows[key] for key in sorted(rows)]


def test_a_server_that_fails_at_times_gets_each_row() -> None:
    with hook(503, 200, 429, 0, 500, 408, 200, 0) as server:
        run = log(95).start(sink=wb.sinks.webhook(address(server), batch_rows=10))
        assert run.wait(PATIENCE_S)
        assert run.error is None
        found = server.found  # type: ignore[attr-defined]
    assert once(found) == [at * 2 for at in range(95)]
    keys = [key for key, _, _ in found]
    assert len(set(keys)) == 10
    assert len(keys) == 12  # two answers were lost, and their batches were sent again with the same key
    assert {user for _, _, user in found} == {"Basic YW5uOnNFY1JlVA=="}


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("said", [lambda: "1", lambda: formatdate(time.time() + 2, usegmt=True)],
                         ids=["seconds", "date"])
def test_a_server_is_left_alone_as_long_as_it_asks(status: int, said: Callable[[], str]) -> None:
    with hook(status) as server:
        server.retry_after[status] = said  # type: ignore[attr-defined]
        assert log(3).start(sink=wb.sinks.webhook(address(server))).wait(PATIENCE_S)
        refused, accepted = server.times  # type: ignore[attr-defined]
        assert accepted - refused >= 1 - 0.01
        assert once(server.found) == [0, 2, 4]  # type: ignore[attr-defined]


@pytest.mark.parametrize("said", ["9999999", "Fri, 31 Dec 2199 23:59:59 GMT", "never", "-5", "1e9"])
def test_what_a_server_asks_is_bounded_by_the_timeout(said: str) -> None:
    with hook(*[503] * 1000) as server:
        server.retry_after[503] = lambda: said  # type: ignore[attr-defined]
        run = log(3).start(sink=wb.sinks.webhook(address(server), retry_timeout=0.3))
        assert ended(run, PATIENCE_S)
        assert "HTTP Error 503" in str(run.error)


def test_a_server_that_is_away_at_first_is_waited_for_and_a_run_resumes(tmp_path: Path) -> None:
    port = free_port()
    asked = wb.feeds.synthetic(rate=4000, rows=1500, seed=1).tumbling_window("20ms").aggregate(x=wb.count())

    def started() -> wb.Run:
        return asked.start(sink=wb.sinks.webhook(f"http://127.0.0.1:{port}/"),
                           checkpoints=wb.Checkpoints(tmp_path / "state", every="20ms"))

    run = started()
    until(lambda: run.metrics.sink_error)
    with hook(port=port) as server:
        until(lambda: server.found)  # type: ignore[attr-defined]
        run.stop()
        assert run.wait(PATIENCE_S)
        later = started()
        assert later.wait(PATIENCE_S)
        assert once(server.found) == asked.collect()["x"].to_pylist()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("status", "hint"), [(400, "Fix the cause"), (403, "Check the user"), (307, "Fix the cause")])
def test_a_request_that_the_server_refuses_ends_the_query(status: int, hint: str) -> None:
    with hook(status) as server:
        run = log(3).start(sink=wb.sinks.webhook(address(server)))
        assert ended(run, PATIENCE_S)
        assert isinstance(run.error, SinkError)
        assert f"HTTP Error {status}" in run.error.what
        assert "3 rows are not acknowledged" in run.error.what
        assert hint in run.error.hint
        assert "sEcReT" not in str(run.error)
        assert not server.found  # type: ignore[attr-defined]


def test_a_server_that_stays_away_ends_the_query_after_its_timeout() -> None:
    sink = wb.sinks.webhook(f"http://127.0.0.1:{free_port()}/sEcReT", retry_timeout=0.3)
    run = log(3).start(sink=sink)
    assert ended(run, PATIENCE_S)
    assert "refused" in str(run.error)
    assert "sEcReT" not in str(run.error)


def test_a_body_of_its_own_is_sent_and_its_error_names_the_rows() -> None:
    with hook() as server:
        sink = wb.sinks.webhook(address(server), body=lambda rows: {"text": f"{len(rows)} alerts, {rows[0]['x']}"})
        assert log(3).start(sink=sink).wait(PATIENCE_S)
        assert [data for _, data, _ in server.found] == [{"text": "3 alerts, 0"}]  # type: ignore[attr-defined]
        run = log(3).start(sink=wb.sinks.webhook(address(server), body=lambda rows: rows[5]))
        assert ended(run, PATIENCE_S)
        assert "body failed for rows 0 to 2: IndexError" in str(run.error)


def test_options_are_checked() -> None:
    with pytest.raises(PlanError, match="must begin with https:// or http://"):
        wb.sinks.webhook("ftp://host")
    for options, what in (({"batch_rows": 0}, "batch_rows must be"), ({"body": 1}, "body must be a function"),
                          ({"retry_timeout": 0}, "retry_timeout must be positive")):
        with pytest.raises(SinkError, match=what):
            wb.sinks.webhook("http://host", **options)

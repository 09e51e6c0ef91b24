"""Settled rows over the network: for whoever has the token, each once, and nobody waits for the slow."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from socket import create_connection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import flight

import whimbrel as wb
from tests.engine.connect.feeds.listen import reading, values
from tests.engine.connect.feeds.relay import Relay
from whimbrel import Stream, WhimbrelError, col
from whimbrel.connect.serving import Published

ROWS = 1_000


def log(rows: int = ROWS) -> Stream:
    return wb.from_arrow(pa.table({"at": np.arange(rows), "x": np.arange(rows) % 7}), time="at", name="log")


def counts(rows: int = ROWS) -> Stream:
    return log(rows).tumbling_window(10).aggregate(n=wb.count(), total=wb.sum(col.x))


def socket(served: wb.Served, path: str = "", *, token: str | None = None, origin: str | None = None) -> Any:
    from websockets.sync.client import connect

    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    assert served.websocket is not None
    return connect(served.websocket + path, additional_headers=headers, origin=origin)  # type: ignore[arg-type]


def messages(connection: Any) -> list[dict[str, Any]]:
    from websockets.exceptions import ConnectionClosedOK

    found = []
    try:
        while True:
            found.append(json.loads(connection.recv(timeout=30)))
    except ConnectionClosedOK:
        return found


def test_a_flight_stream_gives_the_answer() -> None:
    with wb.serve(counts()) as served:
        assert served.flight is not None
        feed = wb.feeds.flight(served.flight, time="start", token=served.token).select("n", "total")
        expected = counts().collect()
        assert feed.collect().select(["start", "n", "total"]) == expected.select(["start", "n", "total"])


def test_many_read_the_same_rows_at_once() -> None:
    with wb.serve(counts()) as served:
        assert served.flight is not None
        feed = wb.feeds.flight(served.flight, time="start", token=served.token).select("total")
        found: list[pa.Table] = []
        readers = [threading.Thread(target=lambda: found.append(feed.collect())) for _ in range(3)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(60)
        assert [table["total"].to_pylist() for table in found] == [counts().collect()["total"].to_pylist()] * 3


def test_a_websocket_gives_a_row_a_message() -> None:
    with wb.serve(counts(40), flight=None, websocket=0) as served:
        expected = counts(40).collect().to_pylist()
        with socket(served, token=served.token) as connection:
            assert messages(connection) == expected
        with socket(served, f"/?token={served.token}&row=2") as connection:
            assert messages(connection) == expected[2:]


def test_a_websocket_that_is_cut_resumes_after_its_last_row_and_ends_with_the_query() -> None:
    query = wb.feeds.synthetic(rate=1000, rows=5000, speed=float("inf")).select("number")
    with wb.serve(query, flight=None, websocket=0) as served, \
            closing(Relay(int(str(served.websocket).rpartition(":")[2]), 20_000)) as relay:
        feed = wb.feeds.websocket(f"ws://127.0.0.1:{relay.port}", time="number", schema={"number": "int64"},
                                  retry_backoff_s=(0.01, 0.05), headers={"Authorization": f"Bearer {served.token}"})
        with reading(feed) as found:
            assert values(found, 99_999, "number") == list(range(5000))
            assert found.state.reconnects >= 1


def test_a_websocket_of_another_or_a_failed_run_gets_an_error() -> None:
    with wb.serve(counts(), flight=None, websocket=0) as served:
        options: Any = {"time": "start", "schema": {"start": "int64"},
                        "headers": {"Authorization": f"Bearer {served.token}"}}
        with reading(wb.feeds.websocket(served.websocket, **options), [2, "another"]) as found, \
                pytest.raises(WhimbrelError, match="belongs to an earlier run"):
            values(found, 1, "start")
    with wb.serve(log().assume(periodic=2).select("x"), flight=None, websocket=0, token=served.token) as failed, \
            reading(wb.feeds.websocket(failed.websocket, **options)) as found, \
            pytest.raises(WhimbrelError, match="comes 1 after the one before it"):
        values(found, 9999, "start")


def test_no_log_has_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with wb.serve(counts(), websocket=0) as served:
        for address, headers in ((f"{served.websocket}?token={served.token}", {}),
                                 (served.websocket, {"Authorization": f"Bearer {served.token}"})):
            feed = wb.feeds.websocket(address, time="start", schema={"start": "int64"}, headers=headers)
            assert feed.collect().num_rows == ROWS // 10
        assert served.token not in caplog.text


def test_a_flight_server_says_that_it_has_one_flight_and_no_actions(capfd: pytest.CaptureFixture[str]) -> None:
    with wb.serve(counts(), websocket=None) as served:
        client = flight.connect(served.flight)
        options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {served.token}".encode())])
        assert (len(list(client.list_flights(b"", options))), client.list_actions(options)) == (1, [])
    assert "Traceback" not in capfd.readouterr().err


def test_nobody_gets_in_without_the_token() -> None:
    from websockets.exceptions import InvalidStatus

    with wb.serve(counts(), websocket=0) as served:
        for token in (None, "", "another one", served.token + "x"):
            with pytest.raises(InvalidStatus, match="401"), socket(served, token=token):
                pass
        for headers in ([], [(b"authorization", b"Bearer another")], [(b"authorization", served.token.encode())]):
            client, options = flight.connect(served.flight), flight.FlightCallOptions(headers=headers)
            for ask in (lambda: client.do_get(flight.Ticket(b""), options).read_all(),  # noqa: B023
                        lambda: list(client.list_flights(b"", options)),  # noqa: B023
                        lambda: client.get_flight_info(flight.FlightDescriptor.for_path("rows"), options)):  # noqa: B023
                with pytest.raises(flight.FlightUnauthenticatedError):
                    ask()
        assert served.token not in repr(served)


def test_pages_of_other_origins_are_kept_out() -> None:
    from websockets.exceptions import InvalidStatus

    with wb.serve(counts(20), flight=None, websocket=0, origins=["https://ours.example"]) as served:
        with pytest.raises(InvalidStatus, match="403"), socket(served, token=served.token,
                                                               origin="https://evil.example"):
            pass
        with socket(served, token=served.token, origin="https://ours.example") as connection:
            assert len(messages(connection)) == 2


def test_it_listens_on_this_machine_alone() -> None:
    with wb.serve(counts(), websocket=0) as served:
        assert served.flight is not None
        assert served.flight.startswith("grpc://127.0.0.1:")
        assert served.websocket is not None
        assert served.websocket.startswith("ws://127.0.0.1:")


def test_letting_go_of_it_ends_it() -> None:
    served = wb.serve(counts(), websocket=0)
    ports = [int(str(address).rpartition(":")[2]) for address in (served.flight, served.websocket)]
    del served
    gc.collect()
    for port in ports:
        with pytest.raises(OSError, match="refused"):
            create_connection(("127.0.0.1", port), timeout=5)


def test_a_client_learns_why_a_query_failed() -> None:
    query = log().assume(periodic=2).select("x")
    with wb.serve(query) as served:
        assert served.flight is not None
        options = flight.FlightCallOptions(headers=[(b"authorization", f"Bearer {served.token}".encode())])
        with pytest.raises(flight.FlightServerError, match="comes 1 after the one before it, not 2"):
            flight.connect(served.flight).do_get(flight.Ticket(b""), options).read_all()


def test_a_server_that_is_started_again_continues_after_the_rows_that_clients_have(tmp_path: Path) -> None:
    incoming, state = tmp_path / "in", tmp_path / "state"
    incoming.mkdir()

    def put(*times: int) -> None:
        pq.write_table(pa.table({"at": list(times)}), tmp_path / "new")
        (tmp_path / "new").rename(incoming / f"{times[0]}.parquet")

    def serve() -> wb.Served:
        feed = wb.feeds.directory(incoming, time="at", schema={"at": pa.int64()})
        return wb.serve(feed.select(t=col.at), checkpoints=wb.Checkpoints(state, every="20ms"))

    def read(served: wb.Served, row: int, count: int) -> list[int]:
        headers = [(b"authorization", f"Bearer {served.token}".encode()), (b"whimbrel-row", str(row).encode())]
        options = flight.FlightCallOptions(headers=headers, timeout=60)
        reader, found = flight.connect(served.flight).do_get(flight.Ticket(b""), options), []
        while len(found) < count:
            found += reader.read_chunk().data["t"].to_pylist()
        reader.cancel()
        return found

    put(0, 1, 2)
    with serve() as served:
        assert read(served, 0, 3) == [0, 1, 2]
        put(3, 4)
        assert read(served, 3, 2) == [3, 4]
    put(5, 6)
    with serve() as served:
        assert read(served, 5, 2) == [5, 6]


def test_rows_that_are_forgotten_are_missed_by_name() -> None:
    rows = Published(keep_rows=25)
    rows.open(pa.schema({"x": pa.int64()}), 0, None)
    reading = rows.read(0, lambda: False)
    for first in range(0, 100, 10):
        rows.write(pa.record_batch({"x": list(range(first, first + 10))}))
        if first == 0:
            assert next(reading)[0] == 0
    with pytest.raises(WhimbrelError, match=r"Row 10 was evicted; the oldest retained row is 50"):
        next(reading)
    rows.close()
    late = [(first, batch.num_rows) for first, batch in rows.read(0, lambda: False)]
    assert late == [(75, 5), (80, 10), (90, 10)]
    assert [(first, batch["x"].to_pylist()) for first, batch in rows.read(87, lambda: False)] == [
        (87, [87, 88, 89]), (90, list(range(90, 100)))]


def test_who_begins_on_a_full_server_is_not_too_slow_at_once() -> None:
    rows = Published(keep_rows=25)
    rows.open(pa.schema({"x": pa.int64()}), 0, None)
    for first in range(0, 100, 10):
        rows.write(pa.record_batch({"x": list(range(first, first + 10))}))
    begun = rows.read(0, lambda: False)
    found = next(begun)[1]["x"].to_pylist()
    for first in (100, 110):  # as many as were kept come before it reads on
        rows.write(pa.record_batch({"x": list(range(first, first + 10))}))
    rows.close()
    assert found + [x for _, batch in begun for x in batch["x"].to_pylist()] == list(range(75, 120))


def test_resuming_from_an_offset_of_another_run_is_an_error() -> None:
    with wb.serve(counts(), flight=0, token="the same token") as served:
        assert served.flight is not None
        port = int(served.flight.rpartition(":")[2])
        feed = wb.feeds.flight(served.flight, time="start", token="the same token", retry_backoff_s=(0.02, 0.1))
        with reading(feed) as found:
            assert values(found, 2, "start")[:2] == [0, 10]
            offset = found.offset
    with (wb.serve(counts(), flight=port, token="the same token"), reading(feed, offset) as found,
          pytest.raises(WhimbrelError, match="belongs to an earlier run; this run counts from 0")):
        values(found, 1, "start")


@pytest.mark.parametrize(("ask", "words"), [
    (lambda query: wb.serve(query, flight=None), "needs flight= or websocket="),
    (lambda query: wb.serve(query, token="short"), "at least 8 characters"),
    (lambda query: wb.serve(query, keep_rows=0), "keep_rows must be an integer"),
    (lambda query: wb.serve(query.collect()), "needs a stream, got Table"),
    (lambda query: wb.serve(query, flight="here"), "must be a port or"),
    (lambda query: wb.serve(query, websocket=70_000), "must be a port or"),
])
def test_what_cannot_be_served_is_refused(ask: Callable[[Stream], object], words: str) -> None:
    with pytest.raises(WhimbrelError, match=words):
        ask(counts())


def test_a_port_that_is_taken_is_refused() -> None:
    with wb.serve(counts(), flight=None, websocket=0) as served:
        assert served.websocket is not None
        port = int(served.websocket.rpartition(":")[2])
        with pytest.raises(WhimbrelError, match="the port is taken"):
            wb.serve(counts(), flight=port)
        with pytest.raises(WhimbrelError, match="the port is taken"):
            wb.serve(counts(), flight=None, websocket=port)


def test_a_feed_says_why_a_server_gives_no_rows() -> None:
    with wb.serve(log().assume(periodic=2).select("x"), websocket=0) as served:
        assert served.flight is not None
        with pytest.raises(WhimbrelError, match="refused to send rows: The token is missing, or another one") as caught:
            wb.feeds.flight(served.flight, time="start", token="another one")
        assert "gRPC" not in str(caught.value)
        refused = wb.feeds.websocket(f"{served.websocket}?token=another", time="start", schema={"start": "int64"})
        with pytest.raises(WhimbrelError, match="refused to send rows: The token is missing, or another one") as caught:
            refused.collect()
        assert "another" not in str(caught.value).replace("or another one", "")
        with pytest.raises(WhimbrelError, match="refused to send rows: The query has failed: An event at 1"):
            wb.feeds.flight(served.flight, time="start", token=served.token).collect()

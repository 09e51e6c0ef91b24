"""Feeds that need no broker: iterators, made-up rows, sockets, pages, WebSockets."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc
from websockets.sync.server import serve

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, reading, rows, values
from whimbrel.connect.feeds.runtime.client import MessageBatch, ThreadedClient
from whimbrel.errors import PlanError, SchemaError, SourceError

FIELDS = {"at": "int64", "x": "int64"}
QUICK: Any = {"time": "at", "schema": FIELDS, "retry_backoff_s": (0.01, 0.05)}
BATCH = pa.record_batch({"at": [1, 2, 3], "x": [10, 20, 30]})


# Iterators.

def read(*messages: object, format: str | None = None, **schema: str) -> tuple[list[dict[str, object]], int]:
    """The rows of messages, and how many were refused."""
    feed = wb.feeds.iterator(lambda: iter(messages), time="at", schema={"at": "int64", **schema}, format=format)
    kept = feed.collect().select(list(schema) or ["at"]).to_pylist()
    return kept, wb.feeds.dead_letters(feed).collect().num_rows


@pytest.mark.parametrize(("value", "type_"), [
    (2**70, "int64"), (-1, "uint64"), (float("inf"), "date32"), (Decimal("1E+50"), "time64[us]"),
    (2**70, "timestamp[us]"), (float("inf"), "duration[s]")])
def test_a_number_that_no_column_can_hold_is_a_letter(value: object, type_: str) -> None:
    assert read({"at": 1}, {"at": 2, "x": value}, {"at": 3}, x=type_) == ([{"x": None}, {"x": None}], 1)


def test_a_text_that_is_not_utf_8_is_a_letter() -> None:
    assert read(b'{"at": 1, "k": "\xc3\xa9"}', b'{"at": 2, "k": "\xff"}', b'{"at": 3, "\xff": 0}',
                format="json", k="string") == ([{"k": "\xe9"}, {"k": None}], 1)


@pytest.mark.parametrize(("message", "row"), [
    (b'2,"a', None), (b'2,"a\n', None), (b'2,"a,\n', None), (b"2,a\n3,b", None), (b"2,a\r3,b", None),
    (b'2,a\n3,"b', None), (b'2,a\r\n', "a"), (b'2,"a\nb"', "a\nb"), (b'2,a"', 'a"'), (b"2,", None), (b"", None)])
def test_a_line_with_an_open_quote_takes_no_other_with_it(message: bytes, row: str | None) -> None:
    kept, dead_letters = read(b"1,x", message, b"3,y", format="csv", k="string")
    refused = row is None and message != b"2,"
    assert kept == [{"k": "x"}, *([] if refused else [{"k": row}]), {"k": "y"}]
    assert dead_letters == refused


def test_lines_of_one_column_may_be_empty() -> None:
    assert read(b"1", b"", b"2", format="csv") == ([{"at": 1}, {"at": 2}], 1)


def test_record_batches_and_dicts_may_be_mixed() -> None:
    feed = wb.feeds.iterator(lambda: [{"at": 0, "x": 1}, BATCH, {"at": 9, "x": 2}], time="at", schema=FIELDS)
    assert feed.collect()["at"].to_pylist() == [0, 1, 2, 3, 9]


def test_a_bad_value_in_a_record_batch_costs_its_row() -> None:
    assert read(pa.record_batch({"at": [1, 2, 3], "x": ["1", "oops", "3"]}), x="int64") == ([{"x": 1}, {"x": 3}], 1)


@pytest.mark.fault("iterator", "wrong schema")
def test_what_is_no_row_of_an_iterator_is_a_letter() -> None:
    feed = wb.feeds.iterator(lambda: [{"at": 1, "x": 1}, "text", {"at": 2, "x": "text"}, {"at": 3}], time="at",
                             schema=FIELDS)
    with reading(feed) as found:
        assert values(found, 9, "at") == [1, 3]
        assert sum(found.state.dead_letters.values()) == 2


def test_an_iterator_that_fails_fails_the_query() -> None:
    def items() -> Iterator[dict[str, int]]:
        yield {"at": 1, "x": 1}
        raise ZeroDivisionError("division by zero")

    with pytest.raises(SourceError, match="division by zero"):
        wb.feeds.iterator(items, time="at", schema=FIELDS).collect()


def test_an_iterator_is_read_once() -> None:
    feed = wb.feeds.iterator(iter([{"at": 1, "x": 1}]), time="at", schema=FIELDS)
    assert feed.collect().num_rows == 1
    with pytest.raises(SourceError, match="was already read"):
        feed.collect()


# Made-up rows.

def test_made_up_rows_are_the_same_each_time_and_from_any_offset() -> None:
    feed = wb.feeds.synthetic(rate=1e4, rows=5000, speed=float("inf"), disorder=0.3, seed=7, reorder_latency="2s")
    table = feed.collect()
    assert table.num_rows == 5000
    assert feed.collect().equals(table)
    with reading(feed, 4321) as found:
        assert values(found, 9999, "number") == list(range(4321, 5000))


def test_bursts_and_gaps_shape_the_rate() -> None:
    feed = wb.feeds.synthetic(rate=100, rows=4000, speed=float("inf"), bursts=(10, 1), gaps=(20, 5))
    counts = feed.tumbling_window("1s").aggregate(n=wb.count()).collect()
    seconds = {at.second + 60 * at.minute: n for at, n in zip(counts["start"].to_pylist(), counts["n"].to_pylist(),
                                                               strict=True)}
    assert (seconds[0], seconds[1], seconds[10]) == (1000, 100, 1000)
    assert not set(range(15, 20)) & seconds.keys()


# Sockets.

def stream_of(*batches: pa.RecordBatch, close: bool = True) -> bytes:
    sink = io.BytesIO()
    writer = ipc.new_stream(sink, BATCH.schema)
    for batch in batches:
        writer.write_batch(batch)
    if close:
        writer.close()
    return sink.getvalue()


@contextmanager
def sending(*connections: bytes, family: int = socket.AF_INET, path: str = "") -> Iterator[str]:
    """A server that sends these bytes to whoever connects, one item a connection, and hangs up."""
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind(path or ("127.0.0.1", 0))
    listener.listen()

    def serve_all() -> None:
        for text in connections:
            connection, _ = listener.accept()
            connection.sendall(text)
            connection.close()

    thread = threading.Thread(target=serve_all, daemon=True)
    thread.start()
    yield f"unix://{path}" if path else f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()


def test_a_unix_socket_is_read_to_its_end(tmp_path: Path) -> None:
    with sending(stream_of(BATCH), family=socket.AF_UNIX, path=str(tmp_path / "feed")) as address:
        assert wb.feeds.socket(address, **QUICK).collect()["x"].to_pylist() == [10, 20, 30]


@pytest.mark.fault("socket", "connection cut mid-message")
@pytest.mark.parametrize("cut", [10, 200, -12])
def test_a_socket_that_is_cut_is_connected_again(cut: int) -> None:
    whole = stream_of(BATCH)
    with sending(whole[:cut], whole) as address, reading(wb.feeds.socket(address, **QUICK)) as found:
        assert values(found, 99, "x")[-3:] == [10, 20, 30]
        assert found.state.reconnects == 1


@pytest.mark.fault("socket", "garbage bytes")
def test_garbage_on_a_socket_does_not_end_the_feed() -> None:
    with sending(bytes(range(256)) * 10, b"\xff" * 64, stream_of(BATCH)) as address, \
            reading(wb.feeds.socket(address, **QUICK)) as found:
        assert values(found, 3, "x") == [10, 20, 30]


def is_of_unknown_kind(text: bytes) -> bool:
    """Whether Arrow takes a stream for one of another kind than it knows."""
    try:
        with ipc.open_stream(text) as stream:
            stream.read_all()
    except (pa.ArrowInvalid, OSError):
        return False
    except pa.ArrowException:
        return True
    return False


def test_a_wrong_bit_of_an_arrow_stream_does_not_end_the_feed() -> None:
    whole = stream_of(BATCH)
    wrong = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:] for at in range(len(whole))]
    unknown = [text for text in wrong if is_of_unknown_kind(text)]
    assert unknown
    with sending(*unknown, whole) as address, reading(wb.feeds.socket(address, **QUICK)) as found:
        assert values(found, 99, "x")[-3:] == [10, 20, 30]


@pytest.mark.fault("socket", "wrong schema")
def test_a_batch_of_other_columns_is_a_dead_letter() -> None:
    with sending(stream_of(BATCH)) as address, reading(
            wb.feeds.socket(address, time="at", schema={"at": "int64", "z": "int64"})) as found:
        assert rows(found, 9) == []
        assert found.state.dead_letters == {"no column 'z'": 1}


def test_an_address_of_another_kind_is_refused() -> None:
    with pytest.raises(PlanError, match="The address must begin with"):
        wb.feeds.socket("udp://localhost:1", time="at")


def test_what_waits_is_handed_on_together_in_its_order_and_the_end_comes_last() -> None:
    given = threading.Event()

    def deliveries() -> Iterator[MessageBatch]:
        yield from (MessageBatch([b"%d" % each], each) for each in range(1000))
        given.set()

    pumped = ThreadedClient(deliveries(), lambda: None, together=True)
    assert given.wait(PATIENCE_S)
    whole = pumped.receive(PATIENCE_S)
    assert whole == MessageBatch([b"%d" % each for each in range(1000)], 999)
    for _ in range(2):
        with pytest.raises(EOFError):
            pumped.receive(PATIENCE_S)


@pytest.mark.parametrize("make", [
    lambda port, **options: wb.feeds.http(f"http://127.0.0.1:{port}", **options),
    lambda port, **options: wb.feeds.sse(f"http://127.0.0.1:{port}", **options),
    lambda port, **options: wb.feeds.websocket(f"ws://127.0.0.1:{port}", **options),
    lambda port, **options: wb.feeds.flight(f"grpc://127.0.0.1:{port}", **options)])
def test_a_server_that_never_answers_is_not_live_and_not_waited_for(make: Callable[..., wb.Stream]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute, reading(make(mute.getsockname()[1], **QUICK)) as found:
        assert next(found) is None
        with mute.accept()[0]:
            assert next(found) is None
            assert found.state.connection == "connecting"
            assert list(found.rest()) == []


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_server_that_never_answers_is_not_waited_for_to_infer_a_schema(scheme: str) -> None:
    feed = wb.feeds.flight if scheme == "grpc" else wb.feeds.http
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(SchemaError, match="no message arrived"):
        feed(f"{scheme}://127.0.0.1:{mute.getsockname()[1]}", time="at", schema_sample_s=0.01)


def test_only_pages_are_pages() -> None:
    with pytest.raises(PlanError, match="The address must begin with"):
        wb.feeds.http("file:///etc/passwd", time="at")


# WebSockets.

@pytest.mark.fault("websocket", "broker stopped and restarted")
@pytest.mark.fault("websocket", "garbage bytes")
@pytest.mark.fault("websocket", "messages of 10 MB")
def test_a_websocket_is_connected_again_and_takes_any_message() -> None:
    hellos: list[object] = []
    large = json.dumps({"at": 3, "x": 3, "padding": "x" * 10_000_000})

    def talk(connection: Any) -> None:
        hellos.append(connection.recv())
        for message in (['{"at": 1, "x": 1}', b"\xff\xfe"] if len(hellos) == 1 else ['{"at": 2, "x": 2}', large]):
            connection.send(message)

    with serve(talk, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        with reading(wb.feeds.websocket(url, hello="subscribe", **QUICK)) as found:
            assert values(found, 3, "at") == [1, 2, 3]
            assert sum(found.state.dead_letters.values()) == 1
    assert hellos[:2] == ["subscribe", "subscribe"]

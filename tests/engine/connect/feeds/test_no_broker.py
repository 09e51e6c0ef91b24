"""Feeds that need no broker: iterators, made-up rows, sockets, pages, WebSockets."""

from __future__ import annotations

import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import ipc
from websockets.sync.server import serve

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, lines, reading, rows, until, values
from whimbrel.connect.feeds import http
from whimbrel.connect.feeds.client import Delivery, Pumped
from whimbrel.errors import PlanError, SchemaError, SourceError

FIELDS = {"at": "int64", "x": "int64"}
QUICK: Any = {"time": "at", "schema": FIELDS, "retry_s": (0.01, 0.05)}
EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}
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
    kept, dead = read(b"1,x", message, b"3,y", format="csv", k="string")
    refused = row is None and message != b"2,"
    assert kept == [{"k": "x"}, *([] if refused else [{"k": row}]), {"k": "y"}]
    assert dead == refused


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
        assert sum(found.state.dead.values()) == 2


def test_an_iterator_that_fails_fails_the_query() -> None:
    def items() -> Iterator[dict[str, int]]:
        yield {"at": 1, "x": 1}
        raise ZeroDivisionError("division by zero")

    with pytest.raises(SourceError, match="division by zero"):
        wb.feeds.iterator(items, time="at", schema=FIELDS).collect()


def test_an_iterator_is_read_once() -> None:
    feed = wb.feeds.iterator(iter([{"at": 1, "x": 1}]), time="at", schema=FIELDS)
    assert feed.collect().num_rows == 1
    with pytest.raises(SourceError, match="was read already"):
        feed.collect()


# Made-up rows.

def test_made_up_rows_are_the_same_each_time_and_from_any_place() -> None:
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
            link, _ = listener.accept()
            link.sendall(text)
            link.close()

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


def is_unheard_of(text: bytes) -> bool:
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
    unheard_of = [text for text in wrong if is_unheard_of(text)]
    assert unheard_of
    with sending(*unheard_of, whole) as address, reading(wb.feeds.socket(address, **QUICK)) as found:
        assert values(found, 99, "x")[-3:] == [10, 20, 30]


@pytest.mark.fault("socket", "wrong schema")
def test_a_batch_of_other_columns_is_a_letter() -> None:
    with sending(stream_of(BATCH)) as address, reading(
            wb.feeds.socket(address, time="at", schema={"at": "int64", "z": "int64"})) as found:
        assert rows(found, 9) == []
        assert found.state.dead == {"no column 'z'": 1}


def test_an_address_of_another_kind_is_refused() -> None:
    with pytest.raises(PlanError, match="is no address of this kind"):
        wb.feeds.socket("udp://localhost:1", time="at")


# Pages.

class Pages(BaseHTTPRequestHandler):
    """Answers with what the server's `page` function says."""

    def do_GET(self) -> None:
        status, headers, body = self.server.page(self)  # type: ignore[attr-defined]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def pages(page: object, kind: type[BaseHTTPRequestHandler] = Pages) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.page = page  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/rows"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.fault("http", "duplicate delivery")
def test_a_page_is_asked_for_again_and_only_what_is_new_is_read() -> None:
    asked: list[str] = []

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        asked.append(request.path)
        return 200, {}, json.dumps([{"at": at, "x": at} for at in range(len(asked) + 1)]).encode()

    with pages(page) as url, reading(wb.feeds.http(url, every=0.01, cursor="at", **QUICK)) as found:
        assert values(found, 4, "at") == [0, 1, 2, 3]
    assert asked[1] == "/rows?at=1"


def test_a_page_may_have_its_newest_row_first() -> None:
    asked: list[str] = []

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        asked.append(request.path)
        return 200, {}, json.dumps([{"at": at, "x": at} for at in reversed(range(2 * len(asked)))]).encode()

    with pages(page) as url, reading(wb.feeds.http(url, every=0.01, cursor="at", **QUICK)) as found:
        assert values(found, 6, "at") == [0, 1, 2, 3, 4, 5]


def test_a_page_that_has_not_changed_is_not_read_again() -> None:
    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        seen.append(request.headers.get("If-None-Match"))
        return (304, {}, b"") if seen[-1] == "one" else (200, {"ETag": "one"}, lines(1))

    seen: list[str | None] = []
    with pages(page) as url, reading(wb.feeds.http(url, every=0.01, **QUICK)) as found:
        assert values(found, 1, "at") == [1]
        until(lambda: len(seen) > 3)
        assert found.state.rows == 1


class Endless(Pages):
    """Pages without end."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(ConnectionError):
            while True:
                self.wfile.write(lines(*range(100)))


def test_a_page_that_does_not_end_is_a_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was read until memory was full."""
    monkeypatch.setattr(http, "_MOST_PAGE_BYTES", 1 << 20)
    with pages(None, Endless) as url, reading(wb.feeds.http(url, every=0.01, **QUICK)) as found:
        until(lambda: next(found) is None and found.state.dead == {"a page is longer than 64 MiB": 1})


@pytest.mark.fault("http", "broker stopped and restarted")
def test_a_server_in_trouble_is_asked_again() -> None:
    answers = iter([500, 503, 200])

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        return next(answers, 200), {}, lines(1)

    with pages(page) as url, reading(wb.feeds.http(url, every=0.01, **QUICK)) as found:
        assert values(found, 1, "at") == [1]
        assert found.state.reconnects >= 1


@pytest.mark.fault("events", "connection cut mid-message")
def test_events_go_on_behind_the_last_one_when_the_connection_is_lost() -> None:
    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        last = int(request.headers.get("Last-Event-ID", "0"))
        text = "".join(f'id: {at}\nevent: row\ndata: {{"at": {at},\ndata: "x": 1}}\n\n' for at in (last + 1, last + 2))
        return 200, EVENTS, text.encode() + b": hello\nevent: other\ndata: 1\n\ndata: {"

    with pages(page) as url, reading(wb.feeds.events(url, event="row", **QUICK)) as found:
        assert values(found, 6, "at") == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
@pytest.mark.parametrize("step", [1, 1000])
def test_lines_of_events_end_with_cr_lf_or_both_and_come_in_any_parts(end: bytes, step: int) -> None:
    text = b"".join(b'id: %d%sdata: {"at": %d,%sdata: "x": 1}%s%s' % (at, end, at, b"\n", end, end) for at in (1, 2))

    class Chunks(Pages):
        def do_GET(self) -> None:
            self.send_response(204 if "Last-Event-ID" in self.headers else 200)
            self.send_header(*next(iter(EVENTS.items())))
            self.end_headers()
            for start in range(0, len(text), step):
                self.wfile.write(text[start:start + step])

    with pages(None, Chunks) as url, reading(wb.feeds.events(url, **QUICK)) as found:
        assert values(found, 3, "at") == [1, 2]
        assert found.state.link == "ended"


def test_a_page_that_is_no_event_stream_is_said_to_be_none_and_asked_for_again() -> None:
    answers = iter([{"Content-Type": "text/html"}])

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        return 200, next(answers, EVENTS), b'data: {"at": 1, "x": 1}\n\n'

    with pages(page) as url, reading(wb.feeds.events(url, time="at", schema=FIELDS, retry_s=(1, 1))) as found:
        until(lambda: next(found) is None and found.state.error == "no event stream: text/html")
        assert values(found, 1, "at") == [1]


def test_events_without_a_name_are_messages() -> None:
    text = b'event: other\ndata: 1\n\ndata: {"at": 1, "x": 1}\n\nevent: message\ndata: {"at": 2, "x": 1}\n\n'

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        return 200, EVENTS, text

    with pages(page) as url, reading(wb.feeds.events(url, event="message", **QUICK)) as found:
        assert values(found, 2, "at") == [1, 2]


def test_events_may_have_any_id_and_any_name() -> None:
    asked: list[str | None] = []
    others = b"event: \xff\nid: 1\0\n\n"

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        asked.append(request.headers["Last-Event-ID"])
        id_ = ("日".encode(), b"\xff\xc3\xa9")[len(asked) % 2 - 1]
        return 200, EVENTS, b'id: %s\ndata: {"at": %d, "x": 1}\n\n%s' % (id_, len(asked), others)

    with pages(page) as url, reading(wb.feeds.events(url, **QUICK)) as found:
        assert values(found, 3, "at") == [1, 2, 3]
    assert [each and each.encode("latin-1").decode() for each in asked[:3]] == [None, "日", "\ufffdé"]


@pytest.mark.parametrize("feed", [wb.feeds.http, wb.feeds.events])
def test_headers_are_sent_on_to_no_other_host(feed: Callable[..., wb.Stream]) -> None:
    seen: list[tuple[str, object]] = []

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        told = request.headers["X-Api-Key"], request.headers["Authorization"]
        seen.append((request.path, None if told == (None, None) else told))
        if request.path != "/rows/last":
            return 302, {"Location": "/own" if request.path == "/rows" else f"{other}/last"}, b""
        return 200, EVENTS, b'data: {"at": 1, "x": 1}\n\n' * (feed is wb.feeds.events)

    told = {"x-api-key": "k", "Authorization": "Bearer hunter2"}
    with pages(page) as other, pages(page) as url, reading(feed(url, headers=told, **QUICK)) as found:
        until(lambda: next(found) is not None or len(seen) >= 3)
    assert seen[:3] == [("/rows", tuple(told.values())), ("/own", tuple(told.values())), ("/rows/last", None)]


@pytest.mark.fault("http", "connection cut mid-message")
def test_a_page_that_is_cut_is_asked_for_again() -> None:
    answers = iter([(200, {"Content-Length": "999"}, lines(1))])

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        return next(answers, (200, {}, lines(2)))

    with pages(page) as url, reading(wb.feeds.http(url, every=0.01, **QUICK)) as found:
        assert values(found, 1, "at") == [2]


@pytest.mark.parametrize("bad", [b'[{"at": 1, "x"', b"<html>", b"[1, 2]", b'[{"at": "one", "x": 0}]', b"[\xff]"])
def test_a_page_that_cannot_be_read_is_a_letter_and_asked_for_again(bad: bytes) -> None:
    answers = iter([[1], bad, [2]])

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        rows = next(answers, [3])
        return 200, {}, rows if isinstance(rows, bytes) else json.dumps([{"at": at, "x": at} for at in rows]).encode()

    with pages(page) as url, reading(wb.feeds.http(url, every=0.01, cursor="at", **QUICK)) as found:
        assert values(found, 3, "at") == [1, 2, 3]
        assert sum(found.state.dead.values()) == (2 if bad == b"[1, 2]" else 1)
        assert found.state.reconnects == 0


@pytest.mark.parametrize("bad", [b'[{"at": 2, "x"', b'{"at": 1, "x": 10}\n{"at": 2, "x"'])
def test_a_page_that_stays_cut_is_one_letter_and_is_one_again_when_it_was_whole_meanwhile(bad: bytes) -> None:
    asked: list[str] = []
    whole = json.dumps([{"at": at, "x": at} for at in (1, 2)]).encode()
    given = [bad, bad, bad, whole, bad, bad]

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        asked.append(request.path)
        return 200, {}, given[min(len(asked), len(given)) - 1]

    with pages(page) as url, reading(wb.feeds.http(url, every=0.01, cursor="at", **QUICK)) as found:
        assert values(found, 2, "at") == [1, 2]
        until(lambda: len(asked) > len(given) + 2)
        assert sum(found.state.dead.values()) == 2


def test_a_page_that_stays_cut_is_one_letter_after_a_restart_too() -> None:
    asked: list[str] = []

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        asked.append(request.path)
        return 200, {}, b'{"at": 1, "x": 10}\n{"at": 2, "x"'

    with pages(page) as url:
        feed = wb.feeds.http(url, every=0.01, cursor="at", **QUICK)
        with reading(feed) as found:
            assert values(found, 1, "at") == [1]
            place = json.loads(json.dumps(found.place))
        with reading(feed, place) as found:
            before = len(asked)
            until(lambda: next(found) is None and len(asked) > before + 2)
            assert found.state.dead == {}


def test_events_that_are_cut_within_a_chunk_go_on() -> None:
    text = b'id: 1\ndata: {"at": 1, "x": 1}\n\n'

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        if "Last-Event-ID" in request.headers:
            return 200, EVENTS, b'data: {"at": 2, "x": 1}\n\n'
        return 200, EVENTS | {"Transfer-Encoding": "chunked"}, b"%x\r\n%s\r\nfff\r\ndata" % (len(text), text)

    with pages(page) as url, reading(wb.feeds.events(url, **QUICK)) as found:
        assert values(found, 2, "at") == [1, 2]


def test_what_waits_is_handed_on_together_in_its_order_and_the_end_comes_last() -> None:
    given = threading.Event()

    def deliveries() -> Iterator[Delivery]:
        yield from (Delivery([b"%d" % each], each) for each in range(1000))
        given.set()

    pumped = Pumped(deliveries(), lambda: None, together=True)
    assert given.wait(PATIENCE_S)
    whole = pumped.receive(PATIENCE_S)
    assert whole == Delivery([b"%d" % each for each in range(1000)], 999)
    for _ in range(2):
        with pytest.raises(EOFError):
            pumped.receive(PATIENCE_S)


@pytest.mark.parametrize("make", [
    lambda port, **told: wb.feeds.http(f"http://127.0.0.1:{port}", **told),
    lambda port, **told: wb.feeds.events(f"http://127.0.0.1:{port}", **told),
    lambda port, **told: wb.feeds.websocket(f"ws://127.0.0.1:{port}", **told),
    lambda port, **told: wb.feeds.flight(f"grpc://127.0.0.1:{port}", **told)])
def test_a_server_that_never_answers_is_not_live_and_not_waited_for(make: Callable[..., wb.Stream]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute, reading(make(mute.getsockname()[1], **QUICK)) as found:
        assert next(found) is None
        with mute.accept()[0]:
            assert next(found) is None
            assert found.state.link == "connecting"
            assert list(found.rest()) == []


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_server_that_never_answers_is_not_waited_for_to_infer_a_schema(scheme: str) -> None:
    feed = wb.feeds.flight if scheme == "grpc" else wb.feeds.http
    with socket.create_server(("127.0.0.1", 0)) as mute, pytest.raises(SchemaError, match="No message came"):
        feed(f"{scheme}://127.0.0.1:{mute.getsockname()[1]}", time="at", sample_s=0.01)


def test_only_pages_are_pages() -> None:
    with pytest.raises(PlanError, match="no address of this kind"):
        wb.feeds.http("file:///etc/passwd", time="at")


# WebSockets.

@pytest.mark.fault("websocket", "broker stopped and restarted")
@pytest.mark.fault("websocket", "garbage bytes")
@pytest.mark.fault("websocket", "messages of 10 MB")
def test_a_websocket_is_connected_again_and_takes_any_message() -> None:
    hellos: list[object] = []
    large = json.dumps({"at": 3, "x": 3, "padding": "x" * 10_000_000})

    def talk(link: Any) -> None:
        hellos.append(link.recv())
        for message in (['{"at": 1, "x": 1}', b"\xff\xfe"] if len(hellos) == 1 else ['{"at": 2, "x": 2}', large]):
            link.send(message)

    with serve(talk, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        with reading(wb.feeds.websocket(url, hello="subscribe", **QUICK)) as found:
            assert values(found, 3, "at") == [1, 2, 3]
            assert sum(found.state.dead.values()) == 1
    assert hellos[:2] == ["subscribe", "subscribe"]

"""Pages that are asked for again, and pages that do not end."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import lines, reading, until, values
from tests.engine.connect.feeds.pages import Pages, pages
from whimbrel.connect.feeds.http import http_feed

FIELDS = {"at": "int64", "x": "int64"}
QUICK: Any = {"time": "at", "schema": FIELDS, "retry_backoff_s": (0.01, 0.05)}
EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}


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

    def do_GET(self) -> None:  # noqa: N802
        self.send_response(200)
        self.end_headers()
        with suppress(ConnectionError):
            while True:
                self.wfile.write(lines(*range(100)))


def test_a_page_that_does_not_end_is_a_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was read until memory was full."""
    monkeypatch.setattr(http_feed, "_MAX_BYTES", 1 << 20)
    with pages(None, Endless) as url, reading(wb.feeds.http(url, every=0.01, **QUICK)) as found:
        until(lambda: next(found) is None and found.state.dead_letters == {"a page is longer than 64 MiB": 1})


@pytest.mark.parametrize("data", [b"data: " + b"x" * 5_000_000, b"data: x\n" * 300_000])
def test_an_event_that_is_too_long_is_a_letter_and_takes_no_other_with_it(
        data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was kept until memory was full."""
    monkeypatch.setattr(http_feed, "_MAX_BYTES", 1 << 20)

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        if "Last-Event-ID" in request.headers:
            return 204, EVENTS, b""
        return 200, EVENTS, b"data: " + lines(1) + b"\n" + data + b"\n\nid: 2\ndata: " + lines(2) + b"\n"

    with pages(page) as url, reading(wb.feeds.sse(url, **QUICK)) as found:
        assert values(found, 2, "at") == [1, 2]
        assert found.state.dead_letters == {"an event is longer than 64 MiB": 1}


@pytest.mark.fault("http", "broker stopped and restarted")
def test_a_server_in_trouble_is_asked_again() -> None:
    answers = iter([500, 503, 200])

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        return next(answers, 200), {}, lines(1)

    with pages(page) as url, reading(wb.feeds.http(url, every=0.01, **QUICK)) as found:
        assert values(found, 1, "at") == [1]
        assert found.state.reconnects >= 1


@pytest.mark.fault("sse", "connection cut mid-message")
def test_events_resume_after_the_last_one_when_the_connection_is_lost() -> None:
    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        last = int(request.headers.get("Last-Event-ID", "0"))
        text = "".join(f'id: {at}\nevent: row\ndata: {{"at": {at},\ndata: "x": 1}}\n\n' for at in (last + 1, last + 2))
        return 200, EVENTS, text.encode() + b": hello\nevent: other\ndata: 1\n\ndata: {"

    with pages(page) as url, reading(wb.feeds.sse(url, event="row", **QUICK)) as found:
        assert values(found, 6, "at") == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
@pytest.mark.parametrize("step", [1, 1000])
def test_lines_of_events_end_with_cr_lf_or_both_and_come_in_any_parts(end: bytes, step: int) -> None:
    text = b"".join(b'id: %d%sdata: {"at": %d,%sdata: "x": 1}%s%s' % (at, end, at, b"\n", end, end) for at in (1, 2))

    class Chunks(Pages):
        def do_GET(self) -> None:  # noqa: N802
            self.send_response(204 if "Last-Event-ID" in self.headers else 200)
            self.send_header(*next(iter(EVENTS.items())))
            self.end_headers()
            for start in range(0, len(text), step):
                self.wfile.write(text[start:start + step])

    with pages(None, Chunks) as url, reading(wb.feeds.sse(url, **QUICK)) as found:
        assert values(found, 3, "at") == [1, 2]
        assert found.state.connection == "ended"


def test_a_page_that_is_no_event_stream_is_said_to_be_none_and_asked_for_again() -> None:
    answers = iter([{"Content-Type": "text/html"}])

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        return 200, next(answers, EVENTS), b'data: {"at": 1, "x": 1}\n\n'

    with pages(page) as url, reading(wb.feeds.sse(url, time="at", schema=FIELDS, retry_backoff_s=(1, 1))) as found:
        until(lambda: next(found) is None and found.state.error == "no event stream: text/html")
        assert values(found, 1, "at") == [1]


def test_events_without_a_name_are_messages() -> None:
    text = b'event: other\ndata: 1\n\ndata: {"at": 1, "x": 1}\n\nevent: message\ndata: {"at": 2, "x": 1}\n\n'

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        return 200, EVENTS, text

    with pages(page) as url, reading(wb.feeds.sse(url, event="message", **QUICK)) as found:
        assert values(found, 2, "at") == [1, 2]


def test_events_may_have_any_id_and_any_name() -> None:
    asked: list[str | None] = []
    others = b"event: \xff\nid: 1\0\n\n"

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        asked.append(request.headers["Last-Event-ID"])
        id_ = ("日".encode(), b"\xff\xc3\xa9")[len(asked) % 2 - 1]
        return 200, EVENTS, b'id: %s\ndata: {"at": %d, "x": 1}\n\n%s' % (id_, len(asked), others)

    with pages(page) as url, reading(wb.feeds.sse(url, **QUICK)) as found:
        assert values(found, 3, "at") == [1, 2, 3]
    assert [each and each.encode("latin-1").decode() for each in asked[:3]] == [None, "日", "\ufffdé"]


@pytest.mark.parametrize("feed", [wb.feeds.http, wb.feeds.sse])
def test_headers_are_sent_on_to_no_other_host(feed: Callable[..., wb.Stream]) -> None:
    seen: list[tuple[str, object]] = []

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        credentials = request.headers["X-Api-Key"], request.headers["Authorization"]
        seen.append((request.path, None if credentials == (None, None) else credentials))
        if request.path != "/rows/last":
            return 302, {"Location": "/own" if request.path == "/rows" else f"{other}/last"}, b""
        return 200, EVENTS, b'data: {"at": 1, "x": 1}\n\n' * (feed is wb.feeds.sse)

    credentials = {"x-api-key": "k", "Authorization": "Bearer hunter2"}
    with pages(page) as other, pages(page) as url, reading(feed(url, headers=credentials, **QUICK)) as found:
        until(lambda: next(found) is not None or len(seen) >= 3)
    sent = tuple(credentials.values())
    assert seen[:3] == [("/rows", sent), ("/own", sent), ("/rows/last", None)]


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
        assert sum(found.state.dead_letters.values()) == (2 if bad == b"[1, 2]" else 1)
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
        assert sum(found.state.dead_letters.values()) == 2


def test_a_page_that_stays_cut_is_one_letter_after_a_restart_too() -> None:
    asked: list[str] = []

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        asked.append(request.path)
        return 200, {}, b'{"at": 1, "x": 10}\n{"at": 2, "x"'

    with pages(page) as url:
        feed = wb.feeds.http(url, every=0.01, cursor="at", **QUICK)
        with reading(feed) as found:
            assert values(found, 1, "at") == [1]
            offset = json.loads(json.dumps(found.offset))
        with reading(feed, offset) as found:
            before = len(asked)
            until(lambda: next(found) is None and len(asked) > before + 2)
            assert found.state.dead_letters == {}


def test_events_that_are_cut_within_a_chunk_resume() -> None:
    text = b'id: 1\ndata: {"at": 1, "x": 1}\n\n'

    def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        if "Last-Event-ID" in request.headers:
            return 200, EVENTS, b'data: {"at": 2, "x": 1}\n\n'
        return 200, EVENTS | {"Transfer-Encoding": "chunked"}, b"%x\r\n%s\r\nfff\r\ndata" % (len(text), text)

    with pages(page) as url, reading(wb.feeds.sse(url, **QUICK)) as found:
        assert values(found, 2, "at") == [1, 2]


@pytest.mark.parametrize("feed", [wb.feeds.http, wb.feeds.sse])
def test_a_user_in_an_address_is_sent_as_basic_authentication_and_to_no_other_server(feed: Any) -> None:
    asked: list[str | None] = []

    def elsewhere(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        asked.append(request.headers["Authorization"])
        return 200, {"Content-Type": "text/event-stream"}, b'data: {"at": 1, "x": 2}\n\n'

    with pages(elsewhere) as other:
        def page(request: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
            asked.append(request.headers["Authorization"])
            return 302, {"Location": other}, b""

        with pages(page) as url, reading(feed(url.replace("//", "//ann:a%2Fb@"), **QUICK)) as found:
            next(found)
            until(lambda: len(asked) > 1)
            assert "a%2Fb" not in f"{found.state}{found.state.error}"
    assert asked[:2] == ["Basic YW5uOmEvYg==", None]

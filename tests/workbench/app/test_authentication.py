"""Whoever asks a served dashboard for anything is asked for the token, and where they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from bokeh.util.token import get_token_payload

import whimbrel as wb
from tests.workbench.app.serving import TOKEN, ask, served
from whimbrel_workbench.app.server import Server
from whimbrel_workbench.workspace import Dashboard

COUNTS = wb.from_arrow({"at": [1, 4, 12], "k": ["a", "b", "a"]}, time="at").tumbling_window(10).aggregate(n=wb.count())
SCRIPT = "/static/js/bokeh.min.js"
SOCKET = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13",
          "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec_WebSocket_Protocol": "bokeh, x"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with served(Dashboard("<b>Counts</b>", [COUNTS]), origins=("wall.example",)) as server:
        yield server


@pytest.fixture(scope="module")
def cookie(server: Server) -> str:
    status, headers, _ = ask(server, f"/?token={TOKEN}")
    assert status == 302
    assert headers["location"] == "/"
    return headers["set-cookie"].split(";")[0]


@pytest.mark.parametrize(
    "path", ("/", SCRIPT, "/metadata", "/autoload.js", "/no-such-page", "/?token=wrong", "/?token="))
def test_nothing_without_the_token(server: Server, path: str) -> None:
    status, _, body = ask(server, path)
    assert status == 403
    assert "needs its token" in body


def test_the_cookie_stands_for_the_token(server: Server, cookie: str) -> None:
    status, _, body = ask(server, "/", Cookie=cookie)
    assert status == 200
    assert "&lt;b&gt;Counts&lt;/b&gt;" in body
    assert "<b>Counts</b>" not in body
    assert ask(server, SCRIPT, Cookie=cookie)[0] == 200
    assert ask(server, SCRIPT, Cookie=cookie[:-1])[0] == 403


def test_a_page_loads_nothing_for_formulas(server: Server, cookie: str) -> None:
    body = ask(server, "/", Cookie=cookie)[2]
    assert "bokeh.min.js" in body
    assert "mathjax" not in body.lower()


def test_scripts_can_read_neither_token_nor_cookie(server: Server, cookie: str) -> None:
    _, headers, _ = ask(server, f"/?token={TOKEN}")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Lax" in headers["set-cookie"]
    assert TOKEN not in headers["set-cookie"]
    body = ask(server, "/", Cookie=cookie)[2]
    secret = cookie.partition("=")[2]
    assert TOKEN not in body
    assert secret not in body
    [session] = re.findall(r'"token":"([^"]+)"', body)
    assert set(get_token_payload(session)) == {"session_expiry"}  # nothing of what the request said


@pytest.mark.parametrize(
    "host", ("evil.example", "evil.example:5006", "127.0.0.1", "localhost", "wall.example:5006", ""))
def test_a_foreign_host_is_refused(server: Server, cookie: str, host: str) -> None:
    status, _, body = ask(server, "/", Cookie=cookie, Host=host)
    assert status == 403
    assert "host is not allowed" in body


@pytest.mark.parametrize("origin", ("http://evil.example", "null", "http://127.0.0.1:1", "https://wall.example.evil.example"))
def test_a_foreign_origin_is_refused_on_the_websocket(server: Server, cookie: str, origin: str) -> None:
    status, _, body = ask(server, "/ws", Cookie=cookie, Origin=origin, **SOCKET)
    assert status == 403
    assert "origin is not allowed" in body


def test_allowed_origins_get_a_websocket_with_the_cookie_only(server: Server, cookie: str) -> None:
    own = f"http://127.0.0.1:{server.exposure.port}"
    for origin, host in ((own, own[7:]), ("https://wall.example", "wall.example")):
        assert ask(server, "/ws", Cookie=cookie, Origin=origin, Host=host, **SOCKET)[0] == 101
        assert ask(server, "/ws", Origin=origin, Host=host, **SOCKET)[0] == 403
        assert ask(server, f"/ws?token={TOKEN}", Origin=origin, Host=host, **SOCKET)[0] == 302


def test_without_a_token_hosts_and_origins_are_still_asked_for() -> None:
    with served(Dashboard("Counts", [COUNTS]), token=None) as server:
        assert ask(server, "/")[0] == 200
        assert ask(server, "/", Host="evil.example")[0] == 403
        assert ask(server, "/ws", Origin="http://evil.example", **SOCKET)[0] == 403


"""Nothing is reachable from elsewhere unless somebody said how, and who may."""

from __future__ import annotations

import contextlib
import socket

import pytest

from tests.workbench.lab import LOCAL
from whimbrel_workbench.app.network_access import NetworkAccess, NetworkAccessError
from whimbrel_workbench.app.server import _bound


def test_by_default_this_machine_alone_and_a_token() -> None:
    first, second = NetworkAccess(), NetworkAccess()
    assert first.is_local
    assert len(first.token) >= 32
    assert first.token != second.token
    assert first.hosts == {"127.0.0.1:5006", "localhost:5006", "[::1]:5006"}
    assert first.token not in repr(first)


@pytest.mark.parametrize("address", ("0.0.0.0", "192.168.1.7", "::", "wall.example", ""))
def test_more_needs_a_token_and_an_origin(address: str) -> None:
    with pytest.raises(NetworkAccessError, match="must name the host"):
        NetworkAccess(address)
    with pytest.raises(NetworkAccessError, match="must have a token"):
        NetworkAccess(address, origins=("wall.example",), token=None)
    assert NetworkAccess(address, origins=("wall.example",)).hosts == {"wall.example"}


@pytest.mark.parametrize("address", ("127.0.0.1", "127.8.8.8", "::1", "localhost"))
def test_this_machine_may_go_without_a_token(address: str) -> None:
    assert "token" not in NetworkAccess(address, token=None).url


@pytest.mark.parametrize(("origin", "host"), (
    ("wall.example", "wall.example"), ("Wall.Example:8443", "wall.example:8443"),
    ("https://wall.example", "wall.example"), ("http://10.0.0.7:5006/", "10.0.0.7:5006")))
def test_origins_are_hosts_with_or_without_a_scheme(origin: str, host: str) -> None:
    assert host in NetworkAccess(origins=(origin,)).hosts


@pytest.mark.parametrize("origin", ("*", "*.example", "", "wall.example:port", "wall.example/dash", "http://"))
def test_an_origin_that_is_none_is_refused(origin: str) -> None:
    with pytest.raises(NetworkAccessError, match="must be a host and its port"):
        NetworkAccess(origins=(origin,))


def test_only_the_token_is_the_token() -> None:
    exposure = NetworkAccess(token="right")
    assert exposure.knows("right")
    assert not any(exposure.knows(token) for token in ("", "righ", "rightt", "RIGHT", "ŕight"))
    assert not NetworkAccess(token=None).knows("")


@pytest.mark.parametrize("port", (-1, 65_536, 99_999))
def test_a_port_that_is_none_is_refused(port: int) -> None:
    with pytest.raises(NetworkAccessError, match="must be from 0 to 65535"):
        NetworkAccess(port=port)


def test_a_frame_of_many_small_messages_is_sent_at_once() -> None:
    """One of them waited for the page's operating system to say that it had the others: 40 ms."""
    (listening, *others), port = _bound(NetworkAccess(port=0))
    with contextlib.ExitStack() as opened:
        for each in (listening, *others):
            opened.enter_context(each)
        listening.setblocking(True)
        opened.enter_context(socket.create_connection((LOCAL, port)))
        accepted, _ = listening.accept()
        opened.enter_context(accepted)
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

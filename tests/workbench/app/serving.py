"""Dashboards that are really served: in this process, or by the command."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whimbrel_workbench.app.network_access import NetworkAccess
from whimbrel_workbench.app.server import Server
from whimbrel_workbench.workspace import Dashboard

TOKEN = "a-token-for-tests"


@contextlib.contextmanager
def served(dashboard: Dashboard, **settings: Any) -> Iterator[Server]:
    """A server on a free port of this machine, on a thread of its own."""
    there: list[Server | BaseException] = []
    ready = threading.Event()

    def serve() -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        try:
            there.append(Server(dashboard, NetworkAccess(port=0, token=settings.pop("token", TOKEN),
                                                    origins=settings.pop("origins", ())), **settings))
        except BaseException as error:
            there.append(error)
            raise
        finally:
            ready.set()
        there[0].run()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert ready.wait(30)
    [server] = there
    assert isinstance(server, Server)
    try:
        yield server
    finally:
        server.stop()
        thread.join(30)
        assert not thread.is_alive()


def ask(server: Server, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
    """Status, headers and body of one request; nothing is followed or remembered."""
    connection = http.client.HTTPConnection("127.0.0.1", server.exposure.port, timeout=30)
    try:
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        # An open websocket has no end to be read.
        body = "" if answer.status == 101 else answer.read().decode("utf-8", "replace")
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body
    finally:
        connection.close()


@contextlib.contextmanager
def command(*arguments: str, folder: Path) -> Iterator[str]:
    """The address that ``whimbrel`` prints when it serves something."""
    program = [sys.executable, "-m", "whimbrel", *arguments, "--port", "0"]
    process = subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.strip().startswith("http"):
                yield line.strip()
                break
        else:
            raise AssertionError("".join(lines) + process.stderr.read())
    finally:
        process.terminate()
        _, said = process.communicate(timeout=30)
        assert "Traceback" not in said
        assert "connection was closed" not in said

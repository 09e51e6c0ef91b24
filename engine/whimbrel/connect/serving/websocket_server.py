"""WebSocket server of settled rows."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

from whimbrel.connect.library_logging import info_logger
from whimbrel.connect.serve_protocol import FAILED, POLICY_VIOLATION, ROW, RUN
from whimbrel.connect.serving.broadcast_sink import Published
from whimbrel.connect.sinks.json_rows import json_rows
from whimbrel.errors import MissingExtraError, WhimbrelError


class WebSocketServer:
    """Serve one JSON object per message to clients with the token; needs ``whimbrel[websocket]``.

    The token is sent as ``Authorization: Bearer ...``, or as ``?token=...`` by web pages, which cannot set headers.
    ``?row=7`` requests rows from number 7 on. The response has the number of the first row and the run as headers, so
    :func:`whimbrel.feeds.websocket` resumes after a disconnect. At the end of the query the server closes normally.

    Parameters
    ----------
    rows : Published
    host : str
    port : int
        0: any free port.
    token : str
    failure : callable
        Returns the error of a failed query, else None.
    origins : sequence of str
        Web pages that may connect, such as ``"https://dashboards.example"``. Programs may always connect.
    """

    def __init__(self, rows: Published, host: str, port: int, token: str,
                 failure: Callable[[], WhimbrelError | None], origins: Sequence[str] = ()) -> None:
        try:
            from websockets.exceptions import ConnectionClosed
            from websockets.sync.server import serve
        except ImportError:
            raise MissingExtraError("websockets", "websocket", "serve(websocket=...)") from None
        self._rows, self._token, self._failure = rows, token.encode(), failure
        self._left: type[Exception] = ConnectionClosed
        self._server: Any = serve(self._talk, host, port, origins=[None, *origins],
                                  process_request=self._check, process_response=self._number,
                                  logger=info_logger("websocket"))
        self.address = f"ws://{host}:{self._server.socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="whimbrel-websocket", daemon=True)
        self._thread.start()

    def _check(self, connection: Any, request: Any) -> Any:
        asked = parse_qs(urlsplit(request.path).query)
        token = request.headers.get("Authorization", "").removeprefix("Bearer ") or asked.get("token", [""])[0]
        if not hmac.compare_digest(token.encode(), self._token):
            return connection.respond(HTTPStatus.UNAUTHORIZED, "The token is missing, or another one.\n")
        return None

    def _number(self, connection: Any, request: Any, response: Any) -> None:
        """Add the number of the first row to an accepted connection."""
        if response.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
            row, _ = _asked(request)
            response.headers[ROW] = row if row.isdigit() and int(row) else str(self._rows.begins)
            response.headers[RUN] = self._rows.run

    def _talk(self, connection: Any) -> None:
        closed = connection.protocol
        row, run = _asked(connection.request)
        try:
            first = max(0, int(row)) or int(connection.response.headers[ROW])
            for _, rows in self._rows.read(first, lambda: closed.close_expected() or closed.state.name != "OPEN", run):
                for _, text in json_rows(rows):
                    connection.send(text.decode())
        except self._left:
            return
        except (ValueError, WhimbrelError) as error:
            connection.close(POLICY_VIOLATION, _first_line(error))
            return
        failed = self._failure()
        if failed is not None:
            connection.close(FAILED, _first_line(failed))

    def shutdown(self) -> None:
        """Close all connections and stop."""
        self._server.shutdown()
        self._thread.join(5)


def _asked(request: Any) -> tuple[str, str]:
    """Requested row and run, from headers or, for web pages, from the query string."""
    asked = parse_qs(urlsplit(request.path).query)
    return request.headers.get(ROW) or asked.get("row", ["0"])[0], request.headers.get(RUN, "")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:100]

"""Serve the settled rows of a query over the network."""

from __future__ import annotations

import functools
import secrets
import weakref
from collections.abc import Sequence
from contextlib import suppress
from numbers import Integral
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from whimbrel import run as running
from whimbrel.errors import PlanError, WhimbrelError
from whimbrel.run import Checkpoints, Run
from whimbrel.stream.stream import Stream
from whimbrel.stream.two_levels import is_low_level, level_id, show_level

if TYPE_CHECKING:
    from whimbrel.connect.serving import FlightServer, Published, WebSocketServer

Address = tuple[str, int] | int

_MAX_PORT = 65_535


class Served:
    """A running query with servers for its settled rows.

    :meth:`close` and garbage collection of this object end the query and its servers.

    Attributes
    ----------
    run : Run
        The query.
    flight, websocket : str or None
        The addresses.
    token : str
        The token with which clients connect.
    """

    def __init__(self, query: Stream, flight: Address | None, websocket: Address | None, token: str,
                 origins: Sequence[str], keep_rows: int, checkpoints: Checkpoints | None) -> None:
        from whimbrel.connect.serving import (  # when it is asked for
            DurableRows,
            FlightServer,
            Published,
            ServedLevel,
            WebSocketServer,
        )

        self.token = token
        self._open: list[FlightServer | WebSocketServer] = []
        self.flight: str | None = None
        self.websocket: str | None = None
        low = query.node if is_low_level(query.node) else None
        if low is None or checkpoints is None:
            self._rows = Published(keep_rows, whole=low is not None)
        else:
            self._rows = DurableRows(Path(checkpoints.folder) / "served", keep_rows)
        self.run: Run = running.start(query.node, keep_rows=0, sinks=(self._rows,), checkpoints=checkpoints)[0]
        # Neither servers nor what ends them know this handle, so that it can be let go.
        failure = functools.partial(_failure, self.run)
        self._end = weakref.finalize(self, _close, self.run, self._rows, self._open)
        try:
            if flight is not None:
                level = None if low is None else ServedLevel(level_id(low), show_level(low),
                                                             functools.partial(_is_finished, self.run))
                server = FlightServer(self._rows, *_place(flight), token, failure, level)
                self._open.append(server)
                self.flight = server.address
            if websocket is not None:
                socket = WebSocketServer(self._rows, *_place(websocket), token, failure, origins)
                self._open.append(socket)
                self.websocket = socket.address
        except (OSError, pa.ArrowException) as error:
            self.close()
            asked = ", ".join(f"{name}={address!r}" for name, address in (
                ("flight", flight), ("websocket", websocket)) if address is not None)
            raise PlanError("Cannot listen at this address: the port is taken, or the host is not this machine.",
                            where=f"serve({asked})", hint="Use 0 for any free port.") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop the query and its servers."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        addresses = [address for address in (self.flight, self.websocket) if address is not None]
        return f"Served({', '.join(addresses)}; {self.run.state})"


def serve(query: Stream, *, flight: Address | None = 0, websocket: Address | None = None, token: str | None = None,
          origins: Sequence[str] = (), keep_rows: int = 1_000_000, checkpoints: Checkpoints | None = None) -> Served:
    """Run a query and serve its settled rows over the network.

    The rows are served as an Arrow Flight stream, over a WebSocket, or both.

    A client connects with the token. It gets the retained rows, and then new rows as they settle. Rows are numbered, so
    a client that was disconnected resumes where it was. A client that is too slow gets an error when rows that it has
    not read are evicted.

    Parameters
    ----------
    query : Stream
    flight, websocket : int or (str, int), optional
        The port, or host and port; 0 is any free port, None disables it. The default host is this machine alone.
        There is no encryption: use a proxy with TLS for other machines.
    token : str, optional
        Default: a new one, in ``.token``.
    origins : sequence of str
        Pages that may connect to the WebSocket, such as ``"https://dashboards.example"``.
    keep_rows : int
        Settled rows that a new client gets first. As many again are kept for clients that reconnect or read slowly.
    checkpoints : Checkpoints, optional
        As in :meth:`Stream.start`. Partial aggregates of :meth:`Stream.low` are stored in the same folder, and sent
        when a checkpoint contains them. Clients then read each once, also if the server is killed and started again.

    Returns
    -------
    Served
        With ``run``, ``flight``, ``websocket``, ``token`` and ``close()``; a context manager.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [0, 1, 7], "x": [1, 2, 3]}, time="at", name="log")
    >>> with wb.serve(log.tumbling_window(5).aggregate(total=wb.sum(wb.col.x))) as served:
    ...     feed = wb.feeds.flight(served.flight, time="start", token=served.token)
    ...     feed.select("total").collect()["total"].to_pylist()
    [3, 3]
    """
    if not isinstance(query, Stream):
        raise PlanError(f"serve() needs a stream, got {type(query).__name__}.", where="serve(...)",
                        hint="Pass the query itself.")
    if flight is None and websocket is None:
        raise PlanError("serve() needs flight= or websocket=.", where="serve(flight=None, websocket=None)",
                        hint="Use flight=0 for any free port.")
    if token is not None and not isinstance(token, str):
        raise PlanError(f"token must be a string, got {type(token).__name__}.", where="serve(token=...)",
                        hint="Leave token= out to generate one.")
    if token is not None and len(token) < 8:
        raise PlanError(f"token must have at least 8 characters, got {len(token)}.", where="serve(token=...)",
                        hint="Leave token= out to generate one.")
    if not isinstance(keep_rows, Integral) or keep_rows < 1:
        raise PlanError(f"keep_rows must be an integer of at least 1, got {keep_rows!r}.", where="serve(...)",
                        hint="Use 1 or more.")
    for name, address in (("flight", flight), ("websocket", websocket)):
        if address is not None:
            _check(name, address)
    return Served(query, flight, websocket, token or secrets.token_urlsafe(24), origins, keep_rows, checkpoints)


def _failure(run: Run) -> WhimbrelError | None:
    with suppress(WhimbrelError):
        run.wait(10)  # its rows are closed before it says how it ended
    return run.error


def _is_finished(run: Run) -> bool:
    with suppress(WhimbrelError):
        run.wait(10)
    return run.state == "finished"


def _close(run: Run, rows: Published, servers: Sequence[FlightServer | WebSocketServer]) -> None:
    run.stop()
    rows.close()
    for server in servers:
        server.shutdown()


def _check(name: str, address: object) -> None:
    port = address[1] if isinstance(address, tuple) and len(address) == 2 and isinstance(address[0], str) else address
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= _MAX_PORT:
        raise PlanError(f"{name} must be a port or (host, port), got {address!r}.", where=f"serve({name}={address!r})",
                        hint='Use a port, such as 8815, 0 for any free port, or ("0.0.0.0", 8815).')


def _place(address: Address) -> tuple[str, int]:
    return ("127.0.0.1", address) if isinstance(address, int) else address

"""A Tornado server for one dashboard."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
from dataclasses import replace
from socket import IPPROTO_TCP, TCP_NODELAY, socket
from typing import Any, Final

from bokeh.application.handlers import FunctionHandler
from bokeh.core.validation import silence
from bokeh.core.validation.warnings import EMPTY_LAYOUT
from bokeh.document import Document
from bokeh.resources import Resources
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.server.util import bind_sockets
from bokeh.util.token import generate_jwt_token, generate_session_id
from panel.io.application import Application
from panel.io.server import DocHandler
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.web import RequestHandler
from tornado.websocket import WebSocketClosedError

from whimbrel_workbench.app.authentication import Guard
from whimbrel_workbench.app.browser_session import BrowserSession
from whimbrel_workbench.app.network_access import NetworkAccess, NetworkAccessError
from whimbrel_workbench.app.page import Page
from whimbrel_workbench.workspace import Dashboard, SharedRun

silence(EMPTY_LAYOUT)  # a page begins with layouts that wait for their first frame

_GONE_AFTER_MS: Final = 5_000
_LOOK_FOR_GONE_EVERY_MS: Final = 1_000
_SCRIPTS_S: Final = 0.08
"""Until a browser has the scripts and begins to run them: while a document is made nothing is sent."""


class Server:
    """Serves one dashboard: one run, any number of pages.

    Parameters
    ----------
    dashboard : Dashboard
    exposure : NetworkAccess
        Port 0 is any free port.
    control : bool
        Whether pages may control the run; otherwise they only show it.
    pause_unwatched : bool
        Let the run wait while nobody looks.

    Attributes
    ----------
    exposure : NetworkAccess
        With the port that it listens on.
    shared : SharedRun
        The run and its viewers.

    Raises
    ------
    NetworkAccessError
        When the address cannot be listened on.
    """

    def __init__(self, dashboard: Dashboard, exposure: NetworkAccess, *, control: bool = False,
                 pause_unwatched: bool = False) -> None:
        self._dashboard = dashboard
        self._control = control
        self.shared: SharedRun = dashboard.shared_run(pause_unwatched=pause_unwatched)
        sockets, port = _bound(exposure)
        self.exposure = replace(exposure, port=port)
        application = Application(FunctionHandler(self._open))
        cookie = f"whimbrel-{port}"
        # The session's own token travels in the page, where scripts can read it: no secret may be in there.
        tornado = _Application({"/": application}, extra_websocket_origins=sorted(self.exposure.hosts),
                               exclude_headers=["Cookie", "Authorization"], exclude_cookies=[cookie],
                               unused_session_lifetime_milliseconds=_GONE_AFTER_MS,
                               check_unused_sessions_milliseconds=_LOOK_FOR_GONE_EVERY_MS)
        tornado.page = Page(dashboard, tornado.resources())
        http = HTTPServer(Guard(tornado, self.exposure, cookie))
        http.add_sockets(sockets)
        self._loop, self._asyncio = IOLoop.current(), asyncio.get_event_loop()
        self._server = BaseServer(self._loop, tornado, http)
        self._server.start()

    def run(self) -> None:
        """Serve until :meth:`stop`, or until the process is interrupted."""
        self._asyncio.set_exception_handler(_tell)
        # What is loaded by now stays. With each page that goes Panel has the garbage collected, and all pages waited
        # while that was looked through too: 0.1 s.
        gc.collect()
        gc.freeze()
        try:
            self._loop.start()
        except KeyboardInterrupt:
            pass
        finally:
            self._server.stop(wait=False)
            self.shared.close()

    def stop(self) -> None:
        """End :meth:`run`; may be called on any thread, and where a signal is handled."""
        self._asyncio.call_soon_threadsafe(self._loop.stop)

    def _open(self, document: Document) -> None:
        BrowserSession(self._dashboard, self.shared, document, control=self._control)


class _Visit(DocHandler):  # type: ignore[misc]
    """Sends the page at once, and makes the session's document while the browser runs the scripts."""

    async def get(self, *_args: Any, **_settings: Any) -> None:
        tornado = self.application
        keys = {"secret_key": tornado.secret_key, "signed": tornado.sign_sessions}
        session = generate_session_id(**keys)
        token = generate_jwt_token(session, expiration=tornado.session_token_expiration, **keys)
        self.set_header("Cache-Control", "no-store")  # the token is for one session, and not for long
        await self.finish(tornado.page.html(token))
        await asyncio.sleep(_SCRIPTS_S)
        await self.application_context.create_session_if_needed(session, self.request, token)


class _Application(BokehTornado):  # type: ignore[misc]
    """Its pages load nothing for formulas and graphics cards, which no view asks for: 2 MB less."""

    page: Page

    def get_handler_delegate(self, request: HTTPServerRequest, target_class: type[RequestHandler], *args: Any,
                             **settings: Any) -> HTTPMessageDelegate:
        """The usual handlers, but for the page itself."""
        return super().get_handler_delegate(request, _Visit if target_class is DocHandler else target_class, *args,
                                            **settings)

    def resources(self, absolute_url: str | bool | None = None) -> Resources:
        resources = super().resources(absolute_url)
        unused = ("bokeh-mathjax", "bokeh-gl")
        resources.components = [name for name in resources.components if name not in unused]
        return resources


# A page that closes while it receives a message is not an error.
logging.getLogger("bokeh.server.views.ws").addFilter(lambda record: "connection was closed" not in record.getMessage())


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), WebSocketClosedError):
        loop.default_exception_handler(context)


def _bound(exposure: NetworkAccess) -> tuple[list[socket], int]:
    try:
        sockets, port = bind_sockets(exposure.address, exposure.port)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        raise NetworkAccessError(f"Cannot listen on {exposure.address}:{exposure.port}: {error.strerror}.",
                            where=f"--port {exposure.port}",
                            hint="Use --port 0 for a free port." if taken else "") from error
    for each in sockets:  # so are connections to it: of a frame's many small messages one waited 40 ms for the others
        each.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    return sockets, port

"""Check host, origin and token of every request to a dashboard."""

from __future__ import annotations

import hmac
import secrets
from typing import Any, Final
from urllib.parse import urlsplit

from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest
from tornado.routing import Router
from tornado.web import Application, RequestHandler

from whimbrel_workbench.app.network_access import NetworkAccess

_REFUSED: Final = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Whimbrel</title><style>:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto; padding: 0 1rem }}</style>
<h1 style="font-size:1.2rem">{what}</h1><p>{hint}</p>"""


class Guard(Router):
    """Lets a request through when its host and origin are allowed and it knows the token.

    The host is checked because a foreign name may resolve to this machine. The origin is checked because a foreign page
    may send requests for its reader. The token comes once, in the address. After that a cookie replaces it, which
    scripts cannot read.

    Parameters
    ----------
    application : tornado.web.Application
        What is guarded.
    exposure : NetworkAccess
    cookie_name : str
        Browsers give a cookie to all ports of a host: its name keeps dashboards apart.
    """

    def __init__(self, application: Application, exposure: NetworkAccess, cookie_name: str) -> None:
        self._application = application
        self._exposure = exposure
        self._cookie_name = cookie_name
        self._cookie = secrets.token_urlsafe(32)

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> HTTPMessageDelegate | None:
        if request.host.lower() not in self._exposure.hosts:
            return self._refuse(request, "This host is not allowed.",
                                "Open the address that whimbrel serve printed.")
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc.lower() not in self._exposure.hosts:
            return self._refuse(request, "This origin is not allowed.",
                                "The owner of the dashboard can allow it with --allow-origin.")
        if self._exposure.token is None or self._has_cookie(request):
            return self._application.find_handler(request, **kwargs)
        arguments = request.query_arguments.get("token", [])
        if any(self._exposure.knows(token.decode("utf-8", "replace")) for token in arguments):
            return self._answer(request, Welcome, name=self._cookie_name, value=self._cookie)
        return self._refuse(request, "This dashboard needs its token.",
                            "Open the complete address that whimbrel serve printed, with its token.")

    def _has_cookie(self, request: HTTPServerRequest) -> bool:
        given = request.cookies.get(self._cookie_name)
        return given is not None and hmac.compare_digest(given.value.encode(), self._cookie.encode())

    def _refuse(self, request: HTTPServerRequest, what: str, hint: str) -> HTTPMessageDelegate:
        return self._answer(request, Refusal, what=what, hint=hint)

    def _answer(self, request: HTTPServerRequest, handler: type[RequestHandler], **options: str) -> HTTPMessageDelegate:
        return self._application.get_handler_delegate(request, handler, options)


class Welcome(RequestHandler):
    """Trades the token for a cookie and forgets it from the address."""

    def initialize(self, name: str, value: str) -> None:
        self._name, self._value = name, value

    def get(self) -> None:
        # Lax, not strict: a link with the token may stand in a message or in another page.
        self.set_cookie(self._name, self._value, httponly=True, samesite="Lax", secure=self.request.protocol == "https")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")
        self.redirect("/")


class Refusal(RequestHandler):
    """Says why a request is not let through."""

    def initialize(self, what: str, hint: str) -> None:
        self._what, self._hint = what, hint

    def prepare(self) -> None:
        self.set_status(403)
        self.finish(_REFUSED.format(what=self._what, hint=self._hint))

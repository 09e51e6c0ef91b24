"""A page of the web that is opened, and where its request may be sent on to."""

from __future__ import annotations

import base64
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from http.client import HTTPMessage
from typing import IO, Any
from urllib.parse import unquote, urlsplit, urlunsplit

_PORTS = {"http": 80, "https": 443}


def opened(url: str, headers: Mapping[str, str], user_headers: Iterable[str], timeout_s: float) -> Any:
    """A page, or the error of its server, whose connection is not kept.

    Parameters
    ----------
    url : str
    headers : mapping
    user_headers : iterable of str
        Names of those headers that the user gave: no other origin sees them, since any may be a secret.
    timeout_s : float
    """
    url, user = _apart(url)
    request = urllib.request.Request(url, headers={**user, **headers})  # noqa: S310 - checked
    try:
        return urllib.request.build_opener(_Redirects([*user_headers, *user])).open(request, timeout=timeout_s)
    except urllib.error.HTTPError as error:
        error.close()
        raise


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Goes where a server sends it; without what the user told the first one, where that is another."""

    def __init__(self, user_headers: Iterable[str]) -> None:
        self._user_headers = [*user_headers]

    def redirect_request(self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage,
                         newurl: str) -> urllib.request.Request | None:
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and _origin(newurl) != _origin(req.full_url):
            for name in self._user_headers:
                request.remove_header(name.capitalize())  # as it is kept
        return request


def _apart(url: str) -> tuple[str, dict[str, str]]:
    """An address without its user, and what tells the server who that is.

    >>> _apart("http://ann:a%2Fb@host/rows")
    ('http://host/rows', {'Authorization': 'Basic YW5uOmEvYg=='})
    """
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    credentials = base64.b64encode(unquote(user).encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), {"Authorization": f"Basic {credentials}"}


def _origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port.

    >>> _origin("https://Host/a") == _origin("https://host:443/b"), _origin("http://host") == _origin("https://host")
    (True, False)
    """
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)

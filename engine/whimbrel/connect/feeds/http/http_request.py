"""HTTP requests with headers of the user.

The headers do not follow a redirect to another origin.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from http.client import HTTPMessage
from typing import IO, Any
from urllib.parse import urlsplit

from whimbrel.connect.addresses import without_user

_PORTS = {"http": 80, "https": 443}


def opened(url: str, headers: Mapping[str, str], user_headers: Iterable[str], timeout_s: float) -> Any:
    """Open a page; an HTTP error closes the connection.

    Parameters
    ----------
    url : str
    headers : mapping
    user_headers : iterable of str
        Names of headers that the user passed. They are not sent to another origin, since any may be a secret.
    timeout_s : float
    """
    url, user = without_user(url)
    request = urllib.request.Request(url, headers={**user, **headers})  # noqa: S310 - checked
    try:
        return urllib.request.build_opener(_Redirects([*user_headers, *user])).open(request, timeout=timeout_s)
    except urllib.error.HTTPError as error:
        error.close()
        raise


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects; drop the headers of the user for another origin."""

    def __init__(self, user_headers: Iterable[str]) -> None:
        self._user_headers = [*user_headers]

    def redirect_request(self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage,
                         newurl: str) -> urllib.request.Request | None:
        request = super().redirect_request(req, fp, code, msg, headers, newurl)
        if request is not None and _origin(newurl) != _origin(req.full_url):
            for name in self._user_headers:
                request.remove_header(name.capitalize())  # as it is kept
        return request


def _origin(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port.

    >>> _origin("https://Host/a") == _origin("https://host:443/b"), _origin("http://host") == _origin("https://host")
    (True, False)
    """
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)

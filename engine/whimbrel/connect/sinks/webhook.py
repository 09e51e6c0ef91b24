"""HTTP server as a sink: batches of rows in POST requests."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import pyarrow as pa

from whimbrel.connect.addresses import checked_url, without_secrets, without_user
from whimbrel.connect.sinks.json_rows import json_rows
from whimbrel.connect.sinks.retrying_sink import BusyServerError, ServerSink
from whimbrel.errors import SinkError

_TIMEOUT_S = 10
_TRY_AGAIN = {408, 409, 425, 429}
_MAX_ANSWER_BYTES = 1 << 16


class RejectedRequestError(Exception):
    """A request that the server rejects, whenever it is sent."""


class WebhookSink(ServerSink):
    """Sink of POST requests to an HTTP server.

    An alert can go to a chat. Settled rows are sent at once, in batches of at most `batch_rows` rows. The default body
    is JSON: ``{"run": "...", "first_row": 0, "rows": [{...}, ...]}``. Rows of a run are numbered from 0. NaN and
    infinity, which JSON does not have, are null.

    At least once: a batch is sent again if its answer was lost, with the same header ``Idempotency-Key``. After a
    crash, batches may begin at other rows. A receiver that skips row numbers of the run it knows sees each row once.

    Requests that fail, and answers 408, 409, 425, 429 and 5xx, are repeated with exponential backoff. If the answer has
    a ``Retry-After``, in seconds or as a date, the sink waits as long, but at most `retry_timeout`. Other answers than
    2xx end the query. At most 100,000 rows wait for the server, then the query waits.

    Parameters
    ----------
    url : str
        ``https://host/path``. Only its host is in errors and logs, and nothing of it in a checkpoint.
    headers : mapping of str to str, optional
        Such as ``{"Authorization": "Bearer ..."}``. They are in no error or log.
    batch_rows : int
        Most rows of a request.
    body : callable, optional
        From a list of rows, which are dicts of JSON values, to a JSON value, such as
        ``lambda rows: {"text": f"{len(rows)} alerts"}``.
    retry_timeout : float
        Seconds without an accepted request after which the query fails.
    """

    kind = "webhook"
    lost = (OSError, HTTPException)
    permanent_errors = (RejectedRequestError,)

    def __init__(self, url: str, *, headers: Mapping[str, str] | None = None, batch_rows: int = 100,
                 body: Callable[[list[dict[str, Any]]], Any] | None = None, retry_timeout: float = 30.0) -> None:
        where = "sinks.webhook(...)"
        checked_url(url, "https", "http")
        if not isinstance(batch_rows, int) or batch_rows < 1:
            raise SinkError(f"batch_rows must be an integer of at least 1, got {batch_rows!r}.", where=where,
                            hint="Use for example batch_rows=100.")
        if body is not None and not callable(body):
            raise SinkError(f"body must be a function of a list of rows, got {type(body).__name__}.", where=where,
                            hint='Use for example body=lambda rows: {"text": str(rows)}.')
        if not retry_timeout > 0:
            raise SinkError(f"retry_timeout must be positive, got {retry_timeout!r}.", where=where,
                            hint="Use seconds, such as retry_timeout=30.")
        parts = urlsplit(url)
        self.name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._url, user = without_user(url)
        self._headers = {"Content-Type": "application/json", **user, **(headers or {})}
        self._batch_rows, self._body, self.retry_timeout_s = batch_rows, body, float(retry_timeout)
        self._opener = build_opener(_NoRedirect, HTTPSHandler(context=ssl.create_default_context()))

    def _connect(self, schema: pa.Schema, rows: int) -> None:
        self._row = rows

    def _send(self, rows: pa.RecordBatch) -> None:
        for start in range(0, rows.num_rows, self._batch_rows):
            batch = rows.slice(start, self._batch_rows)
            texts = [text for _, text in json_rows(batch)]
            self._post(self._encoded(texts), f"{self.run}-{self._row}-{len(texts)}")
            self._row += len(texts)
            self._acknowledged(len(texts))

    def _encoded(self, texts: list[bytes]) -> bytes:
        if self._body is None:
            head = json.dumps({"run": self.run, "first_row": self._row}).encode()
            return head[:-1] + b', "rows": [' + b",".join(texts) + b"]}"
        try:
            return json.dumps(self._body([json.loads(text) for text in texts])).encode()
        except Exception as error:
            raise SinkError(f"body failed for rows {self._row:,} to {self._row + len(texts) - 1:,}: "
                            f"{type(error).__name__}: {without_secrets(error)}", where=f"sinks.webhook({self.name!r})",
                            hint="Return a JSON value for every list of rows.") from error

    def _post(self, data: bytes, key: str) -> None:
        request = Request(self._url, data=data, method="POST",  # noqa: S310 - checked
                          headers={**self._headers, "Idempotency-Key": key})
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as answer:
                answer.read(_MAX_ANSWER_BYTES)
        except HTTPError as error:
            code, reason = error.code, error.reason
            error.close()
            if code in _TRY_AGAIN or code >= 500:
                raise BusyServerError(f"HTTP Error {code}: {reason}", retry_after_s(dict(error.headers))) from None
            raise RejectedRequestError(f"HTTP Error {code}: {reason}") from None

    def _settle(self) -> None:
        """Do nothing: each request was answered."""

    def _disconnect(self) -> None:
        """Do nothing: each request has its own connection."""


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Seconds that an answer asks to wait; 0 if it does not.

    >>> retry_after_s({"Retry-After": "120"}), retry_after_s({"Retry-After": "soon"}), retry_after_s({})
    (120.0, 0.0, 0.0)
    >>> retry_after_s({"Date": "Wed, 01 May 2024 10:00:00 GMT", "Retry-After": "Wed, 01 May 2024 10:00:05 GMT"})
    5.0
    """
    said = headers.get("Retry-After") or ""
    if said.strip().isdecimal():
        return float(said)
    try:
        until = parsedate_to_datetime(said)
        now = parsedate_to_datetime(headers["Date"]) if headers.get("Date") else datetime.now(UTC)
        return max((until - now).total_seconds(), 0.0)  # by the clock of the server
    except (ValueError, TypeError):
        return 0.0


class _NoRedirect(HTTPRedirectHandler):
    """A redirected POST would become a GET without rows."""

    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage,
                         newurl: str) -> None:
        return None

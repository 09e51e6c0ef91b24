"""Detect fatal connection errors, after which a retry is useless."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NOT_LET_IN = re.compile(
    r"authentication failed|authentication required|invalid username-password|already authenticated"
    r"|no pg_hba\.conf entry|FATAL: +(role|database) .* does not exist|bad user name or password|not authorized"
    r"|authorization violation|HTTP Error 40[137]", re.IGNORECASE)
_NO_HOST = re.compile(r"Name or service not known|No address associated with hostname|nodename nor servname|"
                      r"Domain name not found", re.IGNORECASE)


def fatal_reason(error: BaseException, *, before: bool) -> str:
    """Return a hint if an error is fatal, else an empty string.

    Libraries distinguish these errors by their texts, not by their types. So the texts are searched; an error with an
    unknown text is retried.

    Parameters
    ----------
    error : BaseException
    before : bool
        Whether the server has answered before. Then an unknown host name is a temporary fault.

    Examples
    --------
    >>> fatal_reason(OSError("HTTP Error 401: Unauthorized"), before=True)
    'Check the user, password or token, and its permissions: the server denied access.'
    >>> fatal_reason(ConnectionRefusedError("refused"), before=False)
    ''
    """
    said = "\n".join(map(str, _chain(error)))
    if _NOT_LET_IN.search(said):
        return "Check the user, password or token, and its permissions: the server denied access."
    return "Check the address: its host name is unknown." if not before and _NO_HOST.search(said) else ""


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that it was raised for."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__

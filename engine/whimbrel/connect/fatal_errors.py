"""Which lost connections no trying again mends."""

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
    """Why it is no use to try again, as a hint; empty where the server may be there, or let in, later.

    Libraries tell these apart by their words rather than by their types, so words are looked at: what they do not say
    here is tried again.

    Parameters
    ----------
    error : BaseException
    before : bool
        Whether the server has answered before: then it has a name.

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

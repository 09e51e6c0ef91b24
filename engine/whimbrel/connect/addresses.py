"""Validation of server addresses, and removal of secrets from texts."""

from __future__ import annotations

import base64
import re
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from whimbrel.errors import PlanError

_USER = re.compile(r"(?<=://)[^\s\"']*@|[^\s\"'=/:]+:(?!//)[^\s\"']+@")
_NAMED = re.compile(r"(?i:(?:password|passwd|token|secret|sasl[^\s=:]*)\s*[=:]\s*\S+)")
_QUERY = re.compile(r"(?<=[?&])([^=&\s\"'?]+=)[^&\s\"']*")


def without_secrets(text: object) -> str:
    """First line of an error or address, without users, passwords and query values.

    >>> without_secrets(OSError("cannot reach amqp://ann:1234@host, password=1234"))
    'cannot reach amqp://***host, ***'
    >>> without_secrets("https://host/rows?api_key=1234&page=2")
    'https://host/rows?api_key=***&page=***'
    """
    lines = str(text).strip().splitlines()
    if not lines:
        return type(text).__name__
    return _NAMED.sub("***", _QUERY.sub(r"\1***", _USER.sub("***", lines[0])))[:200]


def without_user(url: str) -> tuple[str, dict[str, str]]:
    """Split an address into the address without its user, and a header with the credentials.

    >>> without_user("http://ann:a%2Fb@host/rows")
    ('http://host/rows', {'Authorization': 'Basic YW5uOmEvYg=='})
    """
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    credentials = base64.b64encode(unquote(user).encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), {"Authorization": f"Basic {credentials}"}


def shown_address(address: str) -> str:
    """An address without users, passwords and options; the query of a web address keeps its names.

    >>> shown_address("s3://key:sec/ret@logs/a.csv?region=eu"), shown_address("https://host/a.csv?sig=1234")
    ('s3://logs/a.csv', 'https://host/a.csv?sig=***')
    >>> shown_address("ann:secret@host/db"), shown_address("logs/12:00@berlin.csv")
    ('host/db', 'logs/12:00@berlin.csv')
    """
    scheme, found, rest = address.partition("://")
    if not found:  # somebody forgot it
        user, _, place = address.rpartition("@")
        return place if ":" in user and "/" not in user else address
    if scheme in ("http", "https"):
        return without_secrets(address)
    rest = rest.partition("?")[0]
    user, _, place = rest.rpartition("@")
    return f"{scheme}://{place if ':' in user else rest}"


def shown_cause(error: BaseException) -> BaseException | None:
    """The error as a cause to show; None if its text has secrets."""
    return error if without_secrets(error) == str(error).strip() else None


def checked_url(url: str, *schemes: str) -> str:
    """Return an address of one of these schemes.

    Raises
    ------
    PlanError
        For an address that cannot be parsed or has another scheme.
    """
    shown = without_secrets(url)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except (AttributeError, TypeError, ValueError):
        raise PlanError(f"The address {shown!r} cannot be parsed.", where=repr(shown),
                        hint="Use an integer as port, and write / and @ in a password as %2F and %40.") from None
    if parts.scheme not in schemes:
        raise PlanError(f"The address must begin with {' or '.join(f'{each}://' for each in schemes)}, got {shown!r}.",
                        where=repr(shown), hint=f"Use for example {schemes[0]}://host:port.")
    return url


LIBPQ_TIMEOUTS: Final[dict[str, Any]] = {"connect_timeout": 5, "tcp_user_timeout": 30_000}
"""How long libpq waits: seconds for a connection, milliseconds for a machine that does not take what it is sent."""


def checked_conninfo(url: str) -> str:
    """Return an address that libpq can parse.

    Raises
    ------
    PlanError
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    unreadable = PlanError("url must be a PostgreSQL address; the one given cannot be parsed.", where="postgres(...)",
                           hint="Use postgresql://user:password@host/database, and write / and @ in a password as %2F "
                                "and %40.")
    try:
        conninfo_to_dict(url)
    except (ProgrammingError, TypeError):  # it repeats the whole address
        raise unreadable from None
    server, _, database = url.partition("?")[0].partition("://")[2].partition("/")
    if "@" in server.partition("@")[2] + database:  # libpq would seek, and repeat, a part of the password as a host
        raise unreadable
    return url

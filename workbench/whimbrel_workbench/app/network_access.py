"""Address, origins and token of a dashboard."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from whimbrel.errors import WhimbrelError

_MAX_PORT: Final = 65_535


class NetworkAccessError(WhimbrelError):
    """A dashboard that more people could reach than its author may want."""


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class NetworkAccess:
    """Address, port, allowed origins and token of a served dashboard.

    Parameters
    ----------
    address : str
        Where it listens: this machine alone unless it is said otherwise.
    port : int
    origins : tuple of str
        Further hosts under which browsers reach it, with their port where it is not the usual one.
    token : str or None
        What a browser must know; None: everybody who reaches this machine's own address may look.

    Raises
    ------
    NetworkAccessError
        When it listens beyond this machine without a token, or without an allowed origin.

    Examples
    --------
    >>> NetworkAccess(port=5006, token="t").url
    'http://127.0.0.1:5006/?token=t'
    >>> NetworkAccess(address="0.0.0.0", port=5006, origins=("wall.example:5006",), token="t").url
    'http://wall.example:5006/?token=t'
    """

    address: str = "127.0.0.1"
    port: int = 5006
    origins: tuple[str, ...] = ()
    token: str | None = field(default_factory=new_token, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.port <= _MAX_PORT:
            raise NetworkAccessError(f"The port must be from 0 to {_MAX_PORT}, got {self.port}.",
                                where=f"--port {self.port}", hint="Use 0 for any free port.")
        object.__setattr__(self, "origins", tuple(_host(origin) for origin in self.origins))
        if self.is_local:
            return
        where = f"--address {self.address}"
        if not self.token:
            what = f"A dashboard on {self.address} must have a token, because the network reaches it."
            raise NetworkAccessError(what, where=where, hint="Remove --no-token.")
        if not self.origins:
            raise NetworkAccessError(f"A dashboard on {self.address} must name the host by which browsers reach it.",
                                where=where, hint="Add --allow-origin HOST:PORT, such as dashboards.example.org:5006.")

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        if self.address == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.address).is_loopback
        except ValueError:
            return False

    @property
    def hosts(self) -> frozenset[str]:
        """What browsers may call it."""
        local = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")} if self.is_local else set()
        return frozenset(local | set(self.origins))

    @property
    def url(self) -> str:
        """What to open: the address with the token."""
        address = f"[{self.address}]" if ":" in self.address else self.address
        host = f"{address}:{self.port}" if self.is_local else self.origins[0]
        return f"http://{host}/" + (f"?token={self.token}" if self.token else "")

    def knows(self, token: str) -> bool:
        """Whether this is the token; takes as long for a nearly right one as for a wrong one."""
        return self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())


def _host(origin: str) -> str:
    """The host, and the port if there is one, of an origin with or without its scheme."""
    address = origin if "://" in origin else f"http://{origin}"
    try:
        parts = urlsplit(address)
        named = bool(parts.hostname) and "*" not in origin and (parts.port or True)
    except ValueError:
        named = False
    if not named or parts.path.strip("/") or parts.query:
        raise NetworkAccessError(f"The origin must be a host and its port, got {origin!r}.", where="--allow-origin",
                            hint="Write it as in dashboards.example.org:5006.")
    return parts.netloc.lower()


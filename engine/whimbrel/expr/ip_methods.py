"""Functions of addresses: ``x.ip``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whimbrel.errors import ExpressionError
from whimbrel.expr.nodes import Call, Expr
from whimbrel.expr.prefix_table import PrefixTable
from whimbrel.migration_hints import absent


@dataclass(frozen=True)
class IpFunctions:
    """Functions of addresses of IPv4 and IPv6.

    An address is a text, an integer (IPv4), or 16 bytes (IPv6). Null stays null, and another text or an integer outside
    of IPv4 gives null. Texts have no zone, such as ``%eth0``, and numbers in them no leading zeros.

    Examples
    --------
    >>> import whimbrel as wb
    >>> log = wb.from_arrow({"at": [0, 1, 2], "a": ["10.1.2.3", "2001:DB8:0::1", "host"]}, time="at")
    >>> rows = log.select(n=wb.col.a.ip.to_ipv4(), text=wb.col.a.ip.to_text(), net=wb.col.a.ip.network(16))
    >>> rows.collect().to_pandas()[["n", "text", "net"]].astype(str).values.tolist()
    [['167838211.0', '10.1.2.3', '10.1.0.0'], ['nan', '2001:db8::1', '2001::'], ['nan', 'None', 'None']]
    """

    x: Expr

    if not TYPE_CHECKING:  # type checkers know what is there
        __getattr__ = absent("col.x.ip", {})

    def to_text(self) -> Expr:
        """The address as its shortest text, as ``inet_ntop`` writes it."""
        return self._called("to_text")

    def to_ipv4(self) -> Expr:
        """The number of an address of IPv4; null for one of IPv6."""
        return self._called("to_ipv4")

    def to_ipv6(self) -> Expr:
        """The 16 bytes of an address of IPv6; null for one of IPv4."""
        return self._called("to_ipv6")

    def version(self) -> Expr:
        """4 or 6."""
        return self._called("version")

    def is_private(self) -> Expr:
        """Test for the private networks of RFC 1918 and RFC 4193."""
        return self._called("is_private")

    def in_prefix(self, prefix: str) -> Expr:
        """Test for a network, such as ``"10.0.0.0/8"``.

        It is false for an address of the other version.
        """
        if not isinstance(prefix, str):
            raise ExpressionError(f"in_prefix() needs one string, got {prefix!r}.",
                                  where=f"{self.x.show()}.ip.in_prefix({prefix!r})", hint='Use "10.0.0.0/8".')
        return self._called("in_prefix", prefix)

    def network(self, bits: int) -> Expr:
        """The first address of the network of so many leading bits.

        It has the type of the address. An address of IPv4 with more than 32 bits stays as it is.
        """
        if isinstance(bits, bool) or not isinstance(bits, int):
            raise ExpressionError(f"network() needs a whole number, got {bits!r}.",
                                  where=f"{self.x.show()}.ip.network({bits!r})", hint="Use the length of the prefix.")
        return self._called("network", bits)

    def lookup(self, prefixes: PrefixTable) -> Expr:
        """The value of the longest prefix that the address is in; null without one.

        Parameters
        ----------
        prefixes : PrefixTable
            From :func:`~whimbrel.expr.prefix_table.prefix_table`.
        """
        if not isinstance(prefixes, PrefixTable):
            raise ExpressionError(f"lookup() needs a table of prefixes, got {type(prefixes).__name__}.",
                                  where=f"{self.x.show()}.ip.lookup(...)", hint="Use wb.prefix_table(...).")
        return self._called("lookup", prefixes)

    def _called(self, name: str, *options: Any) -> Expr:
        return Call(f"ip.{name}", (self.x,), options)

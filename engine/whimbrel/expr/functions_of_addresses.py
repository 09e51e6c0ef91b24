"""Functions of addresses of IPv4 and IPv6 of the table of functions."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa

from whimbrel.batch import frozen
from whimbrel.errors import ExpressionError
from whimbrel.expr.function_entry import Function, Types, held
from whimbrel.expr.ip_addresses import IPV6_TYPE, IpAddresses, read_column
from whimbrel.expr.prefix_table import PrefixTable, network_masks
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.packets.ip_addresses import find_within, mask_numbers

Array = np.ndarray[Any, Any]

_find_within, _mask_numbers = Compiled(find_within), Compiled(mask_numbers)
_END: Final = 1 << 32
"""The first number that is no address of IPv4."""

PRIVATE: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
"""Networks of RFC 1918 and RFC 4193."""


@lru_cache(maxsize=1024)
def _network(prefix: str) -> tuple[int, Array, Array]:
    """Version, leading bits and their values, as hextets."""
    network = ipaddress.ip_network(prefix)
    packed = network.network_address.packed.rjust(16, b"\0")
    return network.version, network_masks(network.version, network.prefixlen), np.frombuffer(packed, ">u2")


def _is_in(addresses: IpAddresses, prefix: str) -> Array:
    version, masks, wanted = _network(prefix)
    found = addresses.versions == version
    for each in np.flatnonzero(masks):
        found &= (addresses.hextets[:, each] & masks[each]) == wanted[each]
    return np.asarray(found)


def _are_addresses(numbers: Array) -> bool:
    """Whether all are integers that are addresses of IPv4."""
    if numbers.dtype.kind not in "iu":
        return False
    wide = numbers.view(np.uint64) if numbers.dtype.itemsize == 8 else numbers.astype(np.uint64)
    return bool(np.max(wide, initial=0) < _END)


def _are_in(numbers: Array, *prefixes: str) -> Any:
    """Whether numbers are in one of some networks; None where one is no address of IPv4."""
    found: Any = None
    for version, masks, wanted in map(_network, prefixes):
        first = _number(wanted)
        inside = _within(numbers, *((first, first + _END - 1 - _number(masks)) if version == 4 else (1, 0)))
        if inside is None:
            return None
        found = inside if found is None else found | inside
    return found


def _within(numbers: Array, first: int, last: int) -> Any:
    """Whether numbers are from the first to the last one; None where one is no address of IPv4."""
    if numbers.ndim and numbers.dtype.kind in "iu":
        given, found = frozen(numbers), np.empty(len(numbers), np.bool_)
        if _find_within.ready(given, first, last, found):
            return found if _find_within(given, first, last, found) < _END else None
    return (numbers >= first) & (numbers <= last) if _are_addresses(numbers) else None


def _number(hextets: Array) -> int:
    """The last two hextets as a number."""
    return (int(hextets[6]) << 16) | int(hextets[7])


def _bools(addresses: IpAddresses, found: Array) -> Any:
    return held(pa.bool_(), found, addresses.versions > 0)


def _in_prefix(column: Any, prefix: str) -> Any:
    addresses = read_column(column)
    return _bools(addresses, _is_in(addresses, prefix))


def _check_prefix(_: Types, options: Sequence[Any], shown: str) -> None:
    try:
        ipaddress.ip_network(options[0])
    except ValueError as error:
        raise ExpressionError(f"{options[0]!r} is not a prefix: {error}."[:160], where=shown,
                              hint="Use a prefix, such as 10.0.0.0/8 or 2001:db8::/32.") from None


def _is_private(column: Any) -> Any:
    addresses = read_column(column)
    return _bools(addresses, np.logical_or.reduce([_is_in(addresses, prefix) for prefix in PRIVATE]))


def _version(column: Any) -> Any:
    versions = read_column(column).versions
    return held(pa.int32(), versions.astype(np.int32), versions > 0)


def _networks(column: Any, bits: int) -> Any:
    addresses = read_column(column)
    masks = np.zeros((7, 8), np.uint16)
    masks[4], masks[6] = network_masks(4, bits), network_masks(6, bits)
    return IpAddresses(addresses.hextets & masks[addresses.versions], addresses.versions).of_type(column.type)


def _networks_of_numbers(numbers: Array, bits: int) -> Any:
    mask = _number(network_masks(4, bits))
    if numbers.ndim and numbers.dtype.kind in "iu":
        given, masked = frozen(numbers), np.empty(len(numbers), numbers.dtype)
        if _mask_numbers.ready(given, mask, masked):
            return masked if _mask_numbers(given, mask, masked) < _END else None
    # Narrow numbers have zeros where the mask is cut.
    return numbers & np.int64(mask).astype(numbers.dtype) if _are_addresses(numbers) else None


def _check_bits(types: Types, options: Sequence[Any], shown: str) -> None:
    most = 32 if pa.types.is_integer(types[0]) else 128
    if not 0 <= options[0] <= most:
        raise ExpressionError(f"bits must be an integer from 0 to {most}, got {options[0]}.", where=shown,
                              hint="Use the length of the prefix.")


def _lookup(column: Any, prefixes: PrefixTable) -> Any:
    return prefixes.values_of(read_column(column))


_ADDRESS: Final = "an address"

ADDRESSES: Final[dict[str, Function]] = {
    "ip.to_text": Function(_ADDRESS, pa.string(), lambda x: read_column(x).of_type(pa.string()), sql="ip_to_text",
                           arrays=True),
    "ip.to_ipv4": Function(_ADDRESS, pa.int64(), lambda x: read_column(x).of_type(pa.int64()), arrays=True),
    "ip.to_ipv6": Function(_ADDRESS, IPV6_TYPE, lambda x: read_column(x).of_type(IPV6_TYPE), arrays=True),
    "ip.version": Function(_ADDRESS, pa.int32(), _version, sql="ip_version", arrays=True),
    "ip.is_private": Function(_ADDRESS, pa.bool_(), _is_private, sql="is_private_ip", arrays=True,
                              direct=lambda numbers: _are_in(numbers, *PRIVATE)),
    "ip.in_prefix": Function(_ADDRESS, pa.bool_(), _in_prefix, options=(str,), check=_check_prefix, arrays=True,
                             direct=_are_in),
    "ip.network": Function(_ADDRESS, None, _networks, options=(int,), sql="ip_network", check=_check_bits,
                           arrays=True, direct=_networks_of_numbers),
    "ip.lookup": Function(_ADDRESS, lambda _, options: options[0].type, _lookup, options=(PrefixTable,),
                          arrays=True),
}
"""Functions by the names of their calls."""

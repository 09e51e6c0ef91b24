"""Addresses as text, each distinct one converted once."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, Mask
from whimbrel.kernels import KeyTable

Array = np.ndarray[Any, Any]

_MOST = 65_536
"""Addresses that are kept; with more the table begins again."""


class AddressText:
    """Converts numbers of addresses to text.

    Parameters
    ----------
    parts : int
        Integers of an address.
    shown : callable
        Text of an address of so many integers.
    """

    def __init__(self, parts: int, shown: Callable[..., str]) -> None:
        self._parts, self._shown = parts, shown
        self._clear()

    def _clear(self) -> None:
        self._keys = KeyTable([pa.int64()] * self._parts)
        self._texts: list[str] = []

    def column(self, parts: tuple[Array, ...], valid: Mask) -> Column:
        """The texts of these addresses; null where not valid."""
        if len(self._keys) > _MOST:
            self._clear()
        rows = len(valid)
        ids = np.asarray(self._keys.ids([Column(pa.int64(), part) for part in parts], rows))
        new = np.arange(len(self._texts), len(self._keys))
        if len(new):
            values = [np.asarray(column.values) for column in self._keys.values(new)]
            self._texts += [self._shown(*map(int, each)) for each in zip(*values, strict=True)]
        used = np.zeros(len(self._keys), np.bool_)
        used[ids] = True
        dictionary = pa.array([self._texts[each] for each in np.flatnonzero(used)], pa.string())
        places = (np.cumsum(used) - 1)[ids].astype(np.int32)
        return Column(pa.string(), pa.DictionaryArray.from_arrays(pa.array(places, mask=~valid), dictionary))


def shown_ip(version: int, high: int, low: int) -> str:
    """Text of an address of IPv4 or IPv6, of its two halves."""
    if version == 4:
        return socket.inet_ntop(socket.AF_INET, low.to_bytes(4, "big"))
    return socket.inet_ntop(socket.AF_INET6, b"".join((each % 2**64).to_bytes(8, "big") for each in (high, low)))


def shown_mac(number: int) -> str:
    """Text of an address of Ethernet."""
    return number.to_bytes(6, "big").hex(":")

"""Addresses of IPv4 and IPv6 in columns: texts, integers and 16 bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as t

from whimbrel.batch import Column
from whimbrel.batch.string_buffers import text_buffers
from whimbrel.expr.type_predicates import is_text
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.packets.ip_addresses import HEXTETS, LONGEST, read_addresses, write_addresses

Array = np.ndarray[Any, Any]

IPV6_TYPE: Final = pa.binary(16)
"""The type of addresses of IPv6 as values."""

_read, _write = Compiled(read_addresses), Compiled(write_addresses)


@dataclass(frozen=True)
class IpAddresses:
    """Addresses, as eight hextets of 16 bits each.

    Attributes
    ----------
    hextets : numpy.ndarray of uint16
        Rows of eight. Addresses of IPv4 have the last two.
    versions : numpy.ndarray of uint8
        4, 6, or 0 where there is no address.
    """

    hextets: Array
    versions: Array

    def of_type(self, type_: pa.DataType) -> Any:
        """The addresses at a type; null where it has no place for them."""
        if is_text(type_):
            return self._texts()
        if t.is_integer(type_):
            return self._numbers()
        data = pa.py_buffer(np.ascontiguousarray(self.hextets.astype(">u2")))
        return _without(pa.Array.from_buffers(IPV6_TYPE, len(self.versions), [None, data]), self.versions != 6)

    def _numbers(self) -> Any:
        numbers = (self.hextets[:, 6].astype(np.int64) << 16) | self.hextets[:, 7]
        there = self.versions == 4
        return Column(pa.int64(), numbers, None if there.all() else there).to_arrow()

    def _texts(self) -> Any:
        rows = len(self.versions)
        text, offsets = np.empty(LONGEST * rows, np.uint8), np.empty(rows + 1, np.int64)
        _write(np.ascontiguousarray(self.hextets).reshape(-1), self.versions, text, offsets)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text[: offsets[-1]].copy())]
        return _without(pa.Array.from_buffers(pa.large_string(), rows, buffers).cast(pa.string()), self.versions == 0)


def _without(values: pa.Array, absent: Array) -> pa.Array:
    return pc.if_else(pa.array(absent), pa.scalar(None, values.type), values) if absent.any() else values


def read_column(addresses: Any) -> IpAddresses:
    """The hextets of a column of texts, integers or 16 bytes each."""
    rows = len(addresses)
    hextets = np.zeros((rows, HEXTETS), np.uint16)
    versions = np.zeros(rows, np.uint8)
    if is_text(addresses.type):
        buffers = text_buffers(addresses)
        if buffers is not None:
            _read(*buffers, hextets.reshape(-1), versions)
    elif t.is_integer(addresses.type):
        numbers = np.asarray(pc.fill_null(addresses, pa.scalar(0).cast(addresses.type))).astype(np.int64)
        fits = (numbers >= 0) & (numbers < 1 << 32)
        numbers = np.where(fits, numbers, 0)
        hextets[:, 6], hextets[:, 7] = numbers >> 16, numbers & 0xFFFF
        versions[:] = 4 * fits
    elif rows and addresses.buffers()[1] is not None:
        held = np.frombuffer(addresses.buffers()[1], ">u2", HEXTETS * rows, 16 * addresses.offset)
        hextets, versions[:] = held.reshape(rows, HEXTETS).astype(np.uint16), 6
    if addresses.null_count:
        versions[np.asarray(pc.is_null(addresses))] = 0
    return IpAddresses(hextets, versions)

"""Templates of NetFlow and IPFIX, and the columns of their fields."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.packets.flow_records import VARIABLE, read_flow_records

Array = np.ndarray[Any, Any]
Field = tuple[int, int]
"""Number of an information element (IANA), and bytes."""

ELEMENTS: Final = {
    1: "bytes", 85: "bytes", 2: "packets", 86: "packets", 4: "protocol", 5: "tos", 6: "tcp_flags", 7: "src_port",
    8: "src_ipv4", 9: "src_prefix_length", 10: "input_interface", 11: "dst_port", 12: "dst_ipv4",
    13: "dst_prefix_length", 14: "output_interface", 15: "next_hop_ipv4", 16: "src_as", 17: "dst_as",
    21: "end_uptime", 22: "start_uptime", 27: "src_ipv6", 28: "dst_ipv6", 29: "src_prefix_length",
    30: "dst_prefix_length", 34: "sampling", 50: "sampling", 58: "vlan", 61: "direction", 62: "next_hop_ipv6",
    136: "end_reason", 150: "start_s", 151: "end_s", 152: "start_ms", 153: "end_ms", 154: "start_ntp", 155: "end_ntp",
    156: "start_ntp", 157: "end_ntp", 158: "start_before_us", 159: "end_before_us", 160: "boot_ms",
    305: "sampled_packets", 306: "skipped_packets"}
"""Columns of information elements. Others are left out."""
_WIDE: Final = (27, 28, 62)
SLOTS: Final = {name: 2 * number for number, name in enumerate(dict.fromkeys(ELEMENTS.values()))}
"""Where the values of a column stand in a record: the first of two places, of which addresses of IPv6 use both."""
COLUMNS_OF_RECORD: Final = 2 * len(SLOTS)
V5_FIELDS: Final[Sequence[Field]] = (
    (8, 4), (12, 4), (15, 4), (10, 2), (14, 2), (2, 4), (1, 4), (22, 4), (21, 4), (7, 2), (11, 2), (0, 1), (6, 1),
    (4, 1), (5, 1), (16, 2), (17, 2), (9, 1), (13, 1), (0, 2))
"""Fields of a record of NetFlow v5."""

_read = Compiled(read_flow_records)


class MalformedError(ValueError):
    """A datagram that contradicts itself."""


@dataclass(frozen=True)
class FlowTemplate:
    """Fields of records.

    Attributes
    ----------
    fields : sequence of (int, int)
        Information element, and bytes; 0 for one of an enterprise.
    is_options : bool
        Whether records are about the exporter, not flows.
    """

    fields: tuple[Field, ...]
    is_options: bool = False

    @cached_property
    def smallest(self) -> int:
        """Bytes of the shortest record."""
        return sum(1 if size == VARIABLE else size for _, size in self.fields)

    @cached_property
    def _layout(self) -> tuple[Array, Array]:
        sizes = np.array([size for _, size in self.fields], np.int64)
        slots = [SLOTS[ELEMENTS[element]] if element in ELEMENTS and (size == 16 if element in _WIDE else 0 < size <= 8)
                 else -1 for element, size in self.fields]
        return sizes, np.array(slots, np.int64)

    def read(self, data: Array, begin: int, stop: int) -> tuple[Array, Array]:
        """Values of the records in these bytes, and where there are any: a row for each record.

        Raises
        ------
        MalformedError
            If the last record is cut off.
        """
        most = (stop - begin) // self.smallest
        numbers = np.zeros(most * COLUMNS_OF_RECORD, np.int64)
        valid = np.zeros(most * COLUMNS_OF_RECORD, np.bool_)
        done = np.zeros(3, np.int64)
        _read(data, begin, stop, self.smallest, *self._layout, COLUMNS_OF_RECORD, numbers, valid, done)
        if done[1] and data[done[2]:stop].any():  # zeros are padding
            raise MalformedError("a record that is cut off")
        shape = (most, COLUMNS_OF_RECORD)
        return numbers.reshape(shape)[: done[0]], valid.reshape(shape)[: done[0]]


V5_TEMPLATE: Final = FlowTemplate(tuple(V5_FIELDS))


def read_templates(body: bytes, version: int, is_options: bool) -> list[tuple[int, FlowTemplate | None]]:
    """Templates of a set by their numbers; None withdraws a template.

    Raises
    ------
    MalformedError
    """
    found: list[tuple[int, FlowTemplate | None]] = []
    at = 0
    while at + 4 <= len(body):
        number, count = struct.unpack_from(">2H", body, at)
        if number == 0 and not any(body[at:]):
            break  # padding
        if version == 10 and count == 0:
            found.append((number, None))
            at += 4
            continue
        head = 6 if is_options else 4
        if number < 256 or at + head > len(body):
            raise MalformedError("a template with an impossible number")
        if is_options and version == 9:
            scope_bytes, option_bytes = struct.unpack_from(">2H", body, at + 2)
            count = (scope_bytes + option_bytes) // 4
        fields, at = _fields(body, at + head, count, version)
        if is_options and version == 9:  # numbers of scopes are others than those of elements
            fields = [(0, size) for _, size in fields[: scope_bytes // 4]] + fields[scope_bytes // 4:]
        template = FlowTemplate(tuple(fields), is_options)
        if template.smallest == 0:
            raise MalformedError("a template without fields")
        found.append((number, template))
    return found


def _fields(body: bytes, at: int, count: int, version: int) -> tuple[list[Field], int]:
    fields: list[Field] = []
    for _ in range(count):
        if at + 4 > len(body):
            raise MalformedError("a template that is cut off")
        element, size = struct.unpack_from(">2H", body, at)
        at += 4
        if version == 10 and element & 0x8000:
            element, at = 0, at + 4
            if at > len(body):
                raise MalformedError("a template that is cut off")
        if version == 9 and size == VARIABLE:
            raise MalformedError("a template with a field of 65535 bytes")
        fields.append((element, size))
    return fields, at

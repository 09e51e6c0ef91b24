"""Columns of packets: what each one is, and how it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, Mask, numpy_type
from whimbrel.connect.packets.address_text import AddressText, shown_ip, shown_mac
from whimbrel.connect.packets.decoded_layers import PROBLEMS, Packets
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.packets.dns_names import NAME_BYTES, read_names
from whimbrel.kernels.primitives.packets.packet_fields import copy_bytes

Array = np.ndarray[Any, Any]
Read = Callable[["PacketReader", Packets], Column]

TIME_TYPE: Final = pa.timestamp("ns", "UTC")

_names, _copy = Compiled(read_names), Compiled(copy_bytes)


@dataclass(frozen=True, slots=True)
class PacketColumn:
    """A column: its type, how it is read, and what it holds."""

    type: pa.DataType
    read: Read
    summary: str


class PacketReader:
    """Reads columns of packets. It keeps the texts of addresses."""

    def __init__(self) -> None:
        self.ips, self.macs = AddressText(3, shown_ip), AddressText(1, shown_mac)

    def columns(self, packets: Packets, names: tuple[str, ...]) -> tuple[Column, ...]:
        """These columns of some packets."""
        return tuple(COLUMNS[name].read(self, packets) for name in names)


def _fixed(type_: pa.DataType, values: Array, valid: Mask | None = None) -> Column:
    return Column(type_, values.astype(numpy_type(type_), copy=False), None if valid is None or valid.all() else valid)


def _bits(type_: pa.DataType, layer: str, offset: int, width: int, shift: int = 0, mask: int = -1) -> Read:
    """An integer of a layer; null in packets without it."""
    def read(reader: PacketReader, packets: Packets) -> Column:
        ends = packets.captured_ends if layer == "ethernet" else None
        return _fixed(type_, *packets.field(getattr(packets, layer), offset, width, shift, mask, ends=ends))
    return read


def _of_both(type_: pa.DataType, ipv4: tuple[int, ...], ipv6: tuple[int, ...]) -> Read:
    """An integer that IPv4 and IPv6 have at different places."""
    def read(reader: PacketReader, packets: Packets) -> Column:
        found = packets.field(packets.ipv4, *ipv4)
        return _fixed(type_, *packets.field(packets.ipv6, *ipv6, into=found))
    return read


def _known(type_: pa.DataType, of: Callable[[Packets], Array], missing: int | None = None) -> Read:
    """What is known of each packet; null where it is `missing`."""
    def read(reader: PacketReader, packets: Packets) -> Column:
        values = of(packets)
        return _fixed(type_, values, None if missing is None else values != missing)
    return read


def _ip(ipv4: int, ipv6: int) -> Read:
    def read(reader: PacketReader, packets: Packets) -> Column:
        low, valid = packets.field(packets.ipv4, ipv4, 4)
        high, _ = packets.field(packets.ipv6, ipv6, 8)
        packets.field(packets.ipv6, ipv6 + 8, 8, into=(low, valid))
        return reader.ips.column((np.where(valid, packets.versions, 4), high, low), valid)
    return read


def _mac(offset: int) -> Read:
    def read(reader: PacketReader, packets: Packets) -> Column:
        number, valid = packets.field(packets.ethernet, offset, 6, ends=packets.captured_ends)
        return reader.macs.column((number,), valid)
    return read


def _problem(reader: PacketReader, packets: Packets) -> Column:
    places = packets.problems
    names = pa.array(PROBLEMS[1:], pa.string())
    found = pa.array((places - 1).astype(np.int32), mask=places == 0)
    return Column(pa.string(), pa.DictionaryArray.from_arrays(found, names))


def _payload(reader: PacketReader, packets: Packets) -> Column:
    valid = packets.payloads >= 0
    sizes = np.where(valid, np.maximum(packets.ends - packets.payloads, 0), 0)
    return _pieces(packets, packets.payloads, sizes, valid, pa.binary())


def _pieces(packets: Packets, starts: Array, sizes: Array, valid: Mask, type_: pa.DataType) -> Column:
    offsets = np.zeros(len(packets) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    out = np.empty(int(offsets[-1]), np.uint8)
    _copy(packets.found.data, starts, offsets, out)
    return _of_bytes(type_, offsets, out, valid)


def _of_bytes(type_: pa.DataType, offsets: Array, data: Array, valid: Mask) -> Column:
    mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return Column(type_, pa.Array.from_buffers(type_, len(valid), [mask, pa.py_buffer(offsets), pa.py_buffer(data)]))


def _question(packets: Packets) -> tuple[Array, Array, Array, Array]:
    """Rows with messages of DNS that have a question; their names, where each ends, and where its type is."""
    questions, has_head = packets.field(packets.dns, 4, 2)
    rows = np.flatnonzero(has_head & (questions > 0))
    text, offsets = np.empty(len(rows) * NAME_BYTES, np.uint8), np.zeros(len(rows) + 1, np.int64)
    after = np.empty(len(rows), np.int32)
    _names(packets.found.data, packets.dns[rows], packets.ends[rows], text, offsets, after)
    return rows, text, offsets, after


def _dns_name(reader: PacketReader, packets: Packets) -> Column:
    rows, text, ends, after = _question(packets)
    valid = np.zeros(len(packets), np.bool_)
    valid[rows] = after >= 0
    sizes = np.zeros(len(packets), np.int64)
    sizes[rows] = np.diff(ends)
    offsets = np.zeros(len(packets) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return _of_bytes(pa.string(), offsets, text[:ends[-1]], valid)


def _dns_type(reader: PacketReader, packets: Packets) -> Column:
    rows, _, _, after = _question(packets)
    layers = np.full(len(packets), -1, np.int32)
    layers[rows] = after
    return _fixed(pa.int32(), *packets.field(layers, 0, 2))


def _flag(bit: int) -> Read:
    return _bits(pa.bool_(), "tcp", 13, 1, bit, 1)


_INT, _LONG = pa.int32(), pa.int64()

COLUMNS: Final[dict[str, PacketColumn]] = {
    "time": PacketColumn(TIME_TYPE, _known(TIME_TYPE, lambda packets: packets.found.times), "when it was captured"),
    "interface": PacketColumn(_INT, _known(_INT, lambda packets: packets.found.interfaces), "from 0, in pcapng"),
    "length": PacketColumn(_LONG, _known(_LONG, lambda packets: packets.found.lengths), "bytes on the wire"),
    "captured_length": PacketColumn(_INT, _known(_INT, lambda packets: packets.found.captured), "bytes in the file"),
    "problem": PacketColumn(pa.string(), _problem, "truncated, fragment or malformed"),
    "eth_src": PacketColumn(pa.string(), _mac(6), "such as 00:1b:21:0a:0b:0c"),
    "eth_dst": PacketColumn(pa.string(), _mac(0), ""),
    "ether_type": PacketColumn(_INT, _known(_INT, lambda packets: packets.ether_types, -1), "after tags of VLANs"),
    "vlan": PacketColumn(_INT, _known(_INT, lambda packets: packets.vlans, -1), "number of the outer VLAN"),
    "ip_version": PacketColumn(_INT, _known(_INT, lambda packets: packets.versions, 0), "4 or 6"),
    "src_ip": PacketColumn(pa.string(), _ip(12, 8), "address of IPv4 or IPv6 as text"),
    "dst_ip": PacketColumn(pa.string(), _ip(16, 24), ""),
    "src_ipv4": PacketColumn(_LONG, _bits(_LONG, "ipv4", 12, 4), "address of IPv4 as a number"),
    "dst_ipv4": PacketColumn(_LONG, _bits(_LONG, "ipv4", 16, 4), ""),
    "protocol": PacketColumn(_INT, _known(_INT, lambda packets: packets.protocols, -1),
                             "1 ICMP, 6 TCP, 17 UDP, 58 ICMPv6; after extension headers"),
    "ttl": PacketColumn(_INT, _of_both(_INT, (8, 1), (7, 1)), "hop limit in IPv6"),
    "tos": PacketColumn(_INT, _of_both(_INT, (1, 1), (0, 2, 4, 255)), "traffic class in IPv6"),
    "ip_length": PacketColumn(_INT, _bits(_INT, "ipv4", 2, 2), "total length, of IPv4"),
    "ip_id": PacketColumn(_INT, _bits(_INT, "ipv4", 4, 2), "identification, of IPv4"),
    "dont_fragment": PacketColumn(pa.bool_(), _bits(pa.bool_(), "ipv4", 6, 1, 6, 1), ""),
    "more_fragments": PacketColumn(pa.bool_(), _bits(pa.bool_(), "ipv4", 6, 1, 5, 1), ""),
    "fragment_offset": PacketColumn(_INT, _bits(_INT, "ipv4", 6, 2, 0, 0x1FFF), "in units of 8 bytes"),
    "src_port": PacketColumn(_INT, _bits(_INT, "ports", 0, 2), "of TCP, UDP or SCTP"),
    "dst_port": PacketColumn(_INT, _bits(_INT, "ports", 2, 2), ""),
    "seq": PacketColumn(_LONG, _bits(_LONG, "tcp", 4, 4), "sequence number"),
    "ack_number": PacketColumn(_LONG, _bits(_LONG, "tcp", 8, 4), ""),
    "tcp_flags": PacketColumn(_INT, _bits(_INT, "tcp", 13, 1), "FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32"),
    "fin": PacketColumn(pa.bool_(), _flag(0), ""),
    "syn": PacketColumn(pa.bool_(), _flag(1), ""),
    "rst": PacketColumn(pa.bool_(), _flag(2), ""),
    "psh": PacketColumn(pa.bool_(), _flag(3), ""),
    "ack": PacketColumn(pa.bool_(), _flag(4), ""),
    "urg": PacketColumn(pa.bool_(), _flag(5), ""),
    "window": PacketColumn(_INT, _bits(_INT, "tcp", 14, 2), "receive window, not scaled"),
    "udp_length": PacketColumn(_INT, _bits(_INT, "udp", 4, 2), ""),
    "icmp_type": PacketColumn(_INT, _bits(_INT, "icmp", 0, 1), "of ICMP or ICMPv6"),
    "icmp_code": PacketColumn(_INT, _bits(_INT, "icmp", 1, 1), ""),
    "dns_id": PacketColumn(_INT, _bits(_INT, "dns", 0, 2), "of messages at the ports 53 and 5353"),
    "dns_response": PacketColumn(pa.bool_(), _bits(pa.bool_(), "dns", 2, 1, 7, 1), "false: a query"),
    "dns_opcode": PacketColumn(_INT, _bits(_INT, "dns", 2, 1, 3, 15), ""),
    "dns_rcode": PacketColumn(_INT, _bits(_INT, "dns", 3, 1, 0, 15), "0 no error, 3 no such name"),
    "dns_answers": PacketColumn(_INT, _bits(_INT, "dns", 6, 2), "number of answers"),
    "dns_name": PacketColumn(pa.string(), _dns_name, "name of the first question"),
    "dns_type": PacketColumn(_INT, _dns_type, "type of the first question, such as 1 for A"),
    "payload_length": PacketColumn(_INT, lambda _, packets: _fixed(_INT, packets.payload_sizes, packets.payloads >= 0),
                                   "bytes after the transport header, by the headers"),
    "payload": PacketColumn(pa.binary(), _payload, "those that were captured"),
}
"""Columns by name."""

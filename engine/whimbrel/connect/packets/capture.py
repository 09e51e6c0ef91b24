"""Bytes of a capture, cut into packets: pcap and pcapng."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.packets.capture_records import (
    DAMAGED,
    FULL,
    INTERFACE,
    LATEST,
    MAX_BYTES,
    MORE,
    SECTION,
    find_pcap_packets,
    find_pcapng_packets,
)

Array = np.ndarray[Any, Any]

BATCH_PACKETS: Final = 16_384
"""Largest number of packets that are found at once: their headers fit the CPU cache."""
NO_CAPTURE: Final = "it does not begin as pcap or pcapng do"
CUT: Final = "bytes after the last complete packet"
_DAMAGE: Final = "a record with an impossible length, and all after it"
_LEFT_OUT: Final = ("packets without a time", "packets of an interface that the file does not describe")
_PCAP: Final = {0xA1B2C3D4: (16, 1000), 0xA1B23C4D: (16, 1), 0xA1B2CD34: (24, 1000)}
"""Header bytes of a packet, and nanoseconds of a fraction, by the first four bytes."""
_SECTION_HEAD: Final = b"\x0a\x0d\x0d\x0a"
_ORDER_MARKS: Final = b"\x1a\x2b\x3c\x4d", b"\x4d\x3c\x2b\x1a"
"""Of a section of pcapng: the high byte first, and last."""
_RESOLUTION, _OFFSET = 9, 14

_pcap, _pcapng = Compiled(find_pcap_packets), Compiled(find_pcapng_packets)


class CaptureError(ValueError):
    """Bytes that are no capture."""


@dataclass(frozen=True, slots=True)
class PacketBytes:
    """Packets in the bytes of a capture, in order.

    Attributes
    ----------
    data : numpy.ndarray of uint8
        The bytes. They may change after the next packets are asked for.
    times, lengths : numpy.ndarray of int64
        Nanoseconds since 1970, and bytes on the wire.
    starts, captured : numpy.ndarray of int32
        First byte, and captured bytes.
    links, interfaces : numpy.ndarray of int32
    """

    data: Array
    times: Array
    starts: Array
    captured: Array
    lengths: Array
    links: Array
    interfaces: Array

    def __len__(self) -> int:
        return len(self.times)

    def after(self, count: int) -> PacketBytes:
        """All but so many first packets."""
        return self if count == 0 else PacketBytes(
            self.data, self.times[count:], self.starts[count:], self.captured[count:], self.lengths[count:],
            self.links[count:], self.interfaces[count:])


class Capture:
    """Cuts the bytes of one capture into packets, however they arrive.

    Parameters
    ----------
    left_out : Counter of str
        Gets what cannot be read, by reason.
    """

    def __init__(self, left_out: Counter[str]) -> None:
        self._left_out = left_out
        self._rest = b""
        self._begun = self._ended = False
        self._pcapng = self._big = False
        self._header = self._scale = self._link = 0
        self._interfaces: list[tuple[int, int, int, int]] = []  # link type, ticks of a second, divisor, seconds to add

    @property
    def waiting(self) -> int:
        """Bytes of an incomplete packet."""
        return len(self._rest)

    def add(self, more: bytes) -> Generator[PacketBytes]:
        """Yield the packets that are complete with these bytes.

        Raises
        ------
        CaptureError
            If the first bytes are no capture.
        """
        if self._ended:
            return
        whole = self._rest + more if self._rest else more
        data = np.frombuffer(whole, np.uint8)
        at = 0 if self._begun else self._begin(whole)
        why = MORE if self._begun else None
        while self._begun and why is not None:
            packets, at, why = self._find(data, at)
            if len(packets):
                yield packets
            if why == MORE:
                break
            if why == DAMAGED:
                self._left_out[_DAMAGE] += 1
                self._ended, self._rest = True, b""
                return
            if why != FULL and not (size := self._described(whole, at)):
                break
            elif why != FULL:
                at += size
        self._rest = whole[at:]

    def end(self) -> None:
        """Count bytes after the last complete packet."""
        if self._rest and not self._ended:
            self._left_out[CUT] += len(self._rest)

    def _begin(self, whole: bytes) -> int:
        """Bytes of the beginning of a pcap file; 0 while it is not complete."""
        if len(whole) < 4:
            return 0
        if whole[:4] == _SECTION_HEAD:
            if len(whole) >= 12:
                if whole[8:12] not in _ORDER_MARKS:
                    raise CaptureError("its first block has no byte order")
                self._pcapng = self._begun = True
            return 0
        for order in "<>":
            head, = struct.unpack_from(f"{order}I", whole)
            if head in _PCAP:
                if len(whole) < 24:
                    return 0
                self._begun, self._big = True, order == ">"
                self._header, self._scale = _PCAP[head]
                self._link = struct.unpack_from(f"{order}I", whole, 20)[0] & 0x0FFFFFFF
                return 24
        raise CaptureError(NO_CAPTURE)

    def _find(self, data: Array, at: int) -> tuple[PacketBytes, int, int]:
        """The next packets, where they end, and why."""
        times, lengths = np.empty((2, BATCH_PACKETS), np.int64)
        starts, captured, interfaces = np.zeros((3, BATCH_PACKETS), np.int32)
        done = np.zeros(3, np.int64)
        if self._pcapng:
            known = np.array(self._interfaces or [(0, 1, 1, 0)], np.int64)[: len(self._interfaces)]
            links, ticks, divisors, offsets = (np.ascontiguousarray(known[:, place]) for place in range(4))
            link = links.astype(np.int32)
            left_out = np.zeros(len(_LEFT_OUT), np.int64)
            _pcapng(data, at, len(data), self._big, ticks, divisors, offsets, times, starts, captured, lengths,
                    interfaces, left_out, done)
            self._left_out.update({_LEFT_OUT[each]: int(left_out[each]) for each in np.flatnonzero(left_out)})
        else:
            link = np.array([self._link], np.int32)
            _pcap(data, at, len(data), self._header, self._big, self._scale, times, starts, captured, lengths, done)
        count, at, why = map(int, done)
        interfaces = interfaces[:count]
        return PacketBytes(data, times[:count], starts[:count], captured[:count], lengths[:count], link[interfaces],
                           interfaces), at, why

    def _described(self, whole: bytes, at: int) -> int:
        """Read a block that describes a section or an interface; its bytes, or 0 while it is not complete."""
        if len(whole) < at + 12:
            return 0
        if whole[at:at + 4] == _SECTION_HEAD:
            self._big = whole[at + 8:at + 12] == _ORDER_MARKS[0]
            self._interfaces = []
        order = ">" if self._big else "<"
        kind, size = struct.unpack_from(f"{order}2I", whole, at)
        if size < 20 or size > MAX_BYTES or size % 4:
            self._left_out[_DAMAGE] += 1
            self._ended = True
            return 0
        if len(whole) < at + size:
            return 0
        if kind == INTERFACE:
            self._interfaces.append(_interface(whole[at + 8:at + size - 4], order))
        return size


def _interface(body: bytes, order: str) -> tuple[int, int, int, int]:
    """Link type, ticks of a second, what times are divided by first, and seconds to add."""
    ticks, divisor, seconds, at = 10**6, 1, 0, 8
    while at + 4 <= len(body):
        option, size = struct.unpack_from(f"{order}2H", body, at)
        value = body[at + 4:at + 4 + size]
        if option == 0:
            break
        if option == _RESOLUTION and len(value) == 1:
            power = value[0] & 0x7F
            # Nanoseconds of a part of a second are computed in 64 bits: finer ticks are divided first.
            if value[0] & 0x80:
                ticks, divisor = 2 ** min(power, 33), 2 ** min(max(power - 33, 0), 29)
            else:
                ticks, divisor = 10 ** min(power, 9), 10 ** min(max(power - 9, 0), 9)
        if option == _OFFSET and len(value) == 8:
            seconds = struct.unpack(f"{order}q", value)[0]
        at += 4 + (size + 3) // 4 * 4
    return struct.unpack_from(f"{order}H", body)[0], ticks, divisor, max(-LATEST, min(seconds, LATEST))


assert int.from_bytes(_SECTION_HEAD, "big") == SECTION

"""Find the packets in the bytes of a capture: pcap and pcapng."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.packets.byte_order import word16, word32

Array = np.ndarray[Any, Any]

MORE, FULL, DAMAGED, OTHER = 0, 1, 2, 3
"""Why a search ended: it needs more bytes, arrays are full, a length is impossible, or a block is of another kind."""
MAX_BYTES = 1 << 24
"""Largest record: a longer one is damage."""
SECTION, INTERFACE = 0x0A0D0D0A, 1
"""Kinds of blocks that change how others are read."""
OLD_PACKET, SIMPLE_PACKET, PACKET = 2, 3, 6
NO_TIME, NO_INTERFACE = 0, 1
"""Places of the counts of packets that are left out."""
BILLION = 1_000_000_000
LATEST = 9_000_000_000
"""Seconds since 1970 that fit in nanoseconds."""


def find_pcap_packets(data: Array, begin: int, stop: int, header: int, big: bool, scale: int, times: Array,
                      starts: Array, captured: Array, lengths: Array, done: Array) -> None:
    """Write where the packets of a pcap file are; `done` gets their number, where the search ended, and why."""
    at, count, why = begin, 0, MORE
    while at + header <= stop:
        if count == times.shape[0]:
            why = FULL
            break
        size = word32(data, at + 8, big)
        if size > MAX_BYTES:
            why = DAMAGED
            break
        if at + header + size > stop:
            break
        times[count] = word32(data, at, big) * BILLION + word32(data, at + 4, big) * scale
        starts[count], captured[count], lengths[count] = at + header, size, word32(data, at + 12, big)
        at += header + size
        count += 1
    done[0], done[1], done[2] = count, at, why


def find_pcapng_packets(data: Array, begin: int, stop: int, big: bool, ticks: Array, divisors: Array, offsets: Array,
                        times: Array, starts: Array, captured: Array, lengths: Array, interfaces: Array,
                        left_out: Array, done: Array) -> None:
    """Write where the packets of a pcapng file are, until a block that changes how others are read.

    Parameters
    ----------
    ticks, divisors, offsets : array of int64
        Per interface: ticks of a second after the division, what times are divided by, and seconds to add.
    left_out : array of int64
        Counts packets without a time, and those of interfaces that the file does not describe.
    """
    at, count, why = begin, 0, MORE
    while at + 12 <= stop:
        if count == times.shape[0]:
            why = FULL
            break
        kind = word32(data, at, big)
        if kind in (SECTION, INTERFACE):
            why = OTHER
            break
        size = word32(data, at + 4, big)
        if size < 12 or size > MAX_BYTES or size % 4 != 0:
            why = DAMAGED
            break
        if at + size > stop:
            break
        if kind == SIMPLE_PACKET:
            left_out[NO_TIME] += 1
        elif kind in (PACKET, OLD_PACKET):
            if size < 32:
                why = DAMAGED
                break
            interface = word32(data, at + 8, big) if kind == PACKET else word16(data, at + 8, big)
            kept = word32(data, at + 20, big)
            if kept > size - 32:
                why = DAMAGED
                break
            if interface >= ticks.shape[0]:
                left_out[NO_INTERFACE] += 1
            else:
                high = word32(data, at + 12, big)
                time = (high << 32) | word32(data, at + 16, big)
                each = ticks[interface] * divisors[interface]
                seconds = time // each + offsets[interface]
                if high >= 1 << 31 or seconds < -LATEST or seconds > LATEST:
                    left_out[NO_TIME] += 1
                else:
                    part = time % each // divisors[interface]
                    times[count] = seconds * BILLION + part * BILLION // ticks[interface]
                    starts[count], captured[count] = at + 28, kept
                    lengths[count], interfaces[count] = word32(data, at + 24, big), interface
                    count += 1
        at += size
    done[0], done[1], done[2] = count, at, why

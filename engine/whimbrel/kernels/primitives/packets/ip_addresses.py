"""Convert and compare addresses of IPv4 and IPv6."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

HEXTETS = 8
"""Hextets of an address. That of IPv4 has the last two, and zeros before."""
LONGEST = 46
"""Bytes of the longest text of an address."""
_COLON, _POINT, _ZERO = 58, 46, 48


def read_addresses(data: Array, offsets: Array, hextets: Array, versions: Array) -> None:
    """Write the hextets of each text, and its version: 4, 6, or 0 for another text."""
    for row in range(versions.shape[0]):
        start, stop = int(offsets[row]), int(offsets[row + 1])
        first = HEXTETS * row
        versions[row] = 0
        is_long = False
        for at in range(start, stop):
            if data[at] == _COLON:
                is_long = True
                break
        if is_long:
            if read_ipv6(data, start, stop, hextets, first):
                versions[row] = 6
        elif read_ipv4(data, start, stop, hextets, first + 6):
            versions[row] = 4
        if versions[row] == 0:
            for offset in range(HEXTETS):
                hextets[first + offset] = 0


def read_ipv4(data: Array, start: int, stop: int, hextets: Array, offset: int) -> bool:
    """Write two hextets of four decimal numbers; false if the text is anything else, such as one with leading zeros."""
    at = start
    number = 0
    for part in range(4):
        if part > 0:
            if at >= stop or data[at] != _POINT:
                return False
            at += 1
        value, digits = 0, 0
        while at < stop and digits < 4 and _ZERO <= data[at] <= _ZERO + 9:
            value = 10 * value + int(data[at]) - _ZERO
            digits += 1
            at += 1
        if digits == 0 or value > 255 or (digits > 1 and data[at - digits] == _ZERO):
            return False
        number = 256 * number + value
    if at != stop:
        return False
    hextets[offset], hextets[offset + 1] = number >> 16, number & 0xFFFF
    return True


def digit_of(byte: int) -> int:
    """A digit of base 16; -1 for another byte."""
    if 48 <= byte <= 57:
        return byte - 48
    if 97 <= byte <= 102:
        return byte - 87
    return byte - 55 if 65 <= byte <= 70 else -1


def read_ipv6(data: Array, start: int, stop: int, hextets: Array, first: int) -> bool:
    """Write eight hextets of a text of IPv6; false for another text, and for one with a zone."""
    count, gap, at = 0, -1, start
    if stop - start < 2:
        return False
    if data[at] == _COLON:
        if data[at + 1] != _COLON:
            return False
        gap, at = 0, at + 2
    while at < stop:
        if count == HEXTETS:
            return False
        begin, value, digits = at, 0, 0
        while at < stop and digits < 5 and digit_of(int(data[at])) >= 0:
            value = 16 * value + digit_of(int(data[at]))
            digits += 1
            at += 1
        if at < stop and data[at] == _POINT:
            if count > 6 or not read_ipv4(data, begin, stop, hextets, first + count):
                return False
            count, at = count + 2, stop
            break
        if digits == 0 or digits > 4:
            return False
        hextets[first + count] = value
        count += 1
        if at == stop:
            break
        if data[at] != _COLON or at + 1 == stop:
            return False
        at += 1
        if data[at] == _COLON:
            if gap >= 0:
                return False
            gap, at = count, at + 1
    if gap < 0:
        return count == HEXTETS
    if count == HEXTETS:
        return False
    moved = count - gap
    for each in range(moved):
        hextets[first + 7 - each] = hextets[first + count - 1 - each]
    for offset in range(gap, HEXTETS - moved):
        hextets[first + offset] = 0
    return True


def write_addresses(hextets: Array, versions: Array, text: Array, offsets: Array) -> None:
    """Write the texts of addresses one after another, and where each begins; none for the version 0."""
    at = 0
    offsets[0] = 0
    for row in range(versions.shape[0]):
        if versions[row] == 4:
            at = write_ipv4(hextets, HEXTETS * row + 6, text, at)
        elif versions[row] == 6:
            at = write_ipv6(hextets, HEXTETS * row, text, at)
        offsets[row + 1] = at


def write_ipv4(hextets: Array, offset: int, text: Array, at: int) -> int:
    """Write four decimal numbers; where they end."""
    for part in range(4):
        if part > 0:
            text[at] = _POINT
            at += 1
        hextet = int(hextets[offset + part // 2])
        value = hextet & 255 if part % 2 else hextet >> 8
        if value >= 100:
            text[at] = _ZERO + value // 100
            at += 1
        if value >= 10:
            text[at] = _ZERO + value // 10 % 10
            at += 1
        text[at] = _ZERO + value % 10
        at += 1
    return at


def write_ipv6(hextets: Array, first: int, text: Array, at: int) -> int:
    """Write an address as ``inet_ntop`` of the C library does; where it ends."""
    best, longest = -1, 1  # a single zero is written
    begin = -1
    for offset in range(HEXTETS):
        if hextets[first + offset] != 0:
            begin = -1
            continue
        if begin < 0:
            begin = offset
        if offset + 1 - begin > longest:
            best, longest = begin, offset + 1 - begin
    offset = 0
    while offset < HEXTETS:
        if offset == best:
            text[at] = _COLON
            at += 1
            offset += longest
            if offset == HEXTETS:
                text[at] = _COLON
                at += 1
            continue
        if offset > 0:
            text[at] = _COLON
            at += 1
        if offset == 6 and best == 0 and (longest == 6 or (longest == 5 and hextets[first + 5] == 0xFFFF)):
            return write_ipv4(hextets, first + 6, text, at)
        value, has_begun = int(hextets[first + offset]), False
        for shift in (12, 8, 4, 0):
            digit = (value >> shift) & 15
            if digit > 0 or has_begun or shift == 0:
                text[at] = digit + (_ZERO if digit < 10 else 87)
                at += 1
                has_begun = True
        offset += 1
    return at


def find_within(numbers: Array, first: int, last: int, found: Array) -> np.uint64:
    """Write whether each number is from the first to the last one; all bits of all numbers, as of uint64."""
    low, high, bits = np.uint64(first), np.uint64(last), np.uint64(0)
    for row in range(found.shape[0]):
        number = np.uint64(numbers[row])
        bits |= number
        found[row] = (number >= low) & (number <= high)
    return bits


def mask_numbers(numbers: Array, mask: int, masked: Array) -> np.uint64:
    """Write each number with the bits of the mask only; all bits of all numbers, as of uint64."""
    kept, bits = np.uint64(mask), np.uint64(0)
    for row in range(masked.shape[0]):
        number = np.uint64(numbers[row])
        bits |= number
        masked[row] = number & kept
    return bits

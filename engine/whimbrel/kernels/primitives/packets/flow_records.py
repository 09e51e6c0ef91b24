"""Read the records of NetFlow and IPFIX by their template."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.packets.byte_order import big16

Array = np.ndarray[Any, Any]

VARIABLE = 0xFFFF
"""The size of a field whose records say it themselves."""


def read_flow_records(data: Array, begin: int, stop: int, smallest: int, sizes: Array, slots: Array, columns: int,
                      numbers: Array, valid: Array, done: Array) -> None:
    """Write the fields of each record as integers; what is left after the last record is padding.

    Parameters
    ----------
    data : array of uint8
    smallest : int
        Bytes of the shortest record.
    sizes, slots : array of int64
        Bytes of each field, and its column or -1. A field of 16 bytes has two columns.
    numbers, valid : array of int64 and bool
        Rows of so many columns. Eight bytes wrap around to below 0.
    done : array of int64
        Gets the number of records, 1 if another one was cut off, and where the last one ends.
    """
    at, last = np.int64(begin), np.int64(begin)
    count, cut = 0, 0
    while at + smallest <= stop:
        for field in range(sizes.shape[0]):
            size = np.int64(sizes[field])
            if size == VARIABLE:
                if at >= stop:
                    cut = 1
                    break
                size = np.int64(data[at])
                at += 1
                if size == 255:
                    if at + 2 > stop:
                        cut = 1
                        break
                    size = np.int64(big16(data, int(at)))
                    at += 2
            if at + size > stop:
                cut = 1
                break
            slot = np.int64(slots[field])
            if slot >= 0 and 0 < size <= 8:
                write_number(data, at, size, numbers, valid, columns * count + slot)
            elif slot >= 0 and size == 16:
                write_number(data, at, 8, numbers, valid, columns * count + slot)
                write_number(data, at + 8, 8, numbers, valid, columns * count + slot + 1)
            at += size
        if cut == 1:
            break
        count += 1
        last = at
    done[0], done[1], done[2] = count, cut, last


def write_number(data: Array, at: Any, size: Any, numbers: Array, valid: Array, offset: Any) -> None:
    """Write an integer, the high byte first."""
    number = np.int64(data[at])
    if size == 8 and number >= 128:
        number -= 256
    for each in range(1, size):
        number = number * 256 + np.int64(data[at + each])
    numbers[offset] = number
    valid[offset] = True

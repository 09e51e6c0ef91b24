"""Read one field of each packet."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.packets.byte_order import big16

Array = np.ndarray[Any, Any]


def read_field(data: Array, layers: Array, ends: Array, offset: int, width: int, shift: int, mask: int, values: Array,
               valid: Array) -> None:
    """Read an integer, the high byte first, so many bytes after a layer begins; rows without it stay as they are.

    Parameters
    ----------
    layers, ends : arrays
        Where the layer begins in each packet, or -1, and after its last byte.
    offset, width : int
        Bytes from there, and of the integer.
    shift, mask : int
        What of the integer is the field.
    """
    if width == 1:
        for row in range(layers.shape[0]):
            at = int(layers[row]) + offset
            if at >= offset and at < ends[row]:
                values[row], valid[row] = (int(data[at]) >> shift) & mask, True
    elif width == 2:
        for row in range(layers.shape[0]):
            at = int(layers[row]) + offset
            if at >= offset and at + 1 < ends[row]:
                values[row], valid[row] = (big16(data, at) >> shift) & mask, True
    else:
        for row in range(layers.shape[0]):
            at = int(layers[row]) + offset
            if at >= offset and at + width <= ends[row]:
                value = int(data[at])
                if width == 8 and value > 127:  # 64 bits have a sign
                    value -= 256
                for byte in range(1, width):
                    value = (value << 8) | int(data[at + byte])
                values[row], valid[row] = (value >> shift) & mask, True


def copy_bytes(data: Array, starts: Array, offsets: Array, out: Array) -> None:
    """Copy a piece of each packet; `offsets` are those of the copies."""
    for row in range(starts.shape[0]):
        at = starts[row]
        for byte in range(offsets[row], offsets[row + 1]):
            out[byte] = data[at + byte - offsets[row]]

"""The limit of packets: one loop over the bytes of a capture with frames of IPv4 and TCP, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa

from bench.limit import table

Array = np.ndarray[Any, Any]

NAMES = ("time", "length", "ip_version", "src_ipv4", "dst_ipv4", "protocol", "src_port", "dst_port", "tcp_flags")


def packets(file: Path, rows: int) -> pa.Table:
    """Eight columns and the times of so many packets; the bytes are read from the file, too."""
    columns = tuple(np.empty(rows, np.int64) for _ in NAMES)
    found = _packets(np.fromfile(file, np.uint8), columns)
    return table(NAMES, tuple(column[:found] for column in columns))


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _packets(data: Array, columns: tuple[Array, ...]) -> int:
    times, lengths, versions, sources, targets, protocols, senders, receivers, flags = columns
    at, row = 24, 0
    while at + 16 <= len(data):
        size = data[at + 11] << 24 | data[at + 10] << 16 | data[at + 9] << 8 | data[at + 8]
        seconds = data[at + 3] << 24 | data[at + 2] << 16 | data[at + 1] << 8 | data[at]
        times[row] = seconds * 10**9 + 1000 * (
            data[at + 7] << 24 | data[at + 6] << 16 | data[at + 5] << 8 | data[at + 4])
        lengths[row] = data[at + 15] << 24 | data[at + 14] << 16 | data[at + 13] << 8 | data[at + 12]
        ip = at + 30
        versions[row], protocols[row] = data[ip] >> 4, data[ip + 9]
        sources[row] = data[ip + 12] << 24 | data[ip + 13] << 16 | data[ip + 14] << 8 | data[ip + 15]
        targets[row] = data[ip + 16] << 24 | data[ip + 17] << 16 | data[ip + 18] << 8 | data[ip + 19]
        tcp = ip + (data[ip] & 15) * 4
        senders[row], receivers[row] = data[tcp] << 8 | data[tcp + 1], data[tcp + 2] << 8 | data[tcp + 3]
        flags[row] = data[tcp + 13]
        at += 16 + size
        row += 1
    return row

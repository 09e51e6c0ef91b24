"""L. Packets: eight columns of a capture, against one hand-written loop over its bytes, and dpkt.

Frames have IPv4 and TCP, and 96 of their bytes were captured. All sides read the file. dpkt and ours read a tenth of it
in turn, as dpkt is slow.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dpkt
import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench import limit_packets
from bench.compare import Row, compare
from bench.sides import collected

ROWS, QUICK_ROWS = 5_000_000, 1_000_000
PART = 10
"""dpkt reads one in so many packets."""
SNAP = 96
COLUMNS = limit_packets.NAMES[1:]


def run(*, quick: bool) -> Iterator[Row]:
    """One figure for the loop, and one for dpkt."""
    rows = QUICK_ROWS if quick else ROWS
    with tempfile.TemporaryDirectory() as folder:
        file, part = Path(folder) / "log.pcap", Path(folder) / "part.pcap"
        file.write_bytes(_capture(rows))
        part.write_bytes(_capture(rows // PART))
        yield from compare("L packets", "8 columns", rows, collected(lambda: wb.read_pcap(file).select(*COLUMNS)),
                           {"hand-written loop": lambda: limit_packets.packets(file, rows)}, _same,
                           roof="hand-written loop")
        yield from compare("L packets", f"8 columns, 1 in {PART}", rows // PART,
                           collected(lambda: wb.read_pcap(part).select(*COLUMNS)), {"dpkt": lambda: _of_dpkt(part)},
                           _same)


def _capture(rows: int) -> bytes:
    draw = np.random.default_rng(7)
    form = np.dtype([("seconds", "<u4"), ("micros", "<u4"), ("size", "<u4"), ("length", "<u4"), ("mac", "V12"),
                     ("type", ">u2"), ("version", "u1"), ("tos", "u1"), ("total", ">u2"), ("id", "V5"),
                     ("protocol", "u1"), ("check", "V2"), ("source", ">u4"), ("target", ">u4"), ("sender", ">u2"),
                     ("receiver", ">u2"), ("seq", "V8"), ("offset", "u1"), ("flags", "u1"), ("rest", "V48")])
    packets = np.zeros(rows, form)
    at = np.arange(rows) * 3
    packets["seconds"], packets["micros"], packets["size"] = 1_700_000_000 + at // 10**6, at % 10**6, SNAP
    packets["length"] = draw.integers(SNAP, 1500, rows)
    packets["total"], packets["type"], packets["version"], packets["protocol"] = packets["length"] - 14, 0x0800, 0x45, 6
    packets["source"], packets["target"] = draw.integers(0, 2**32, (2, rows))
    packets["sender"], packets["receiver"] = draw.integers(0, 2**16, (2, rows))
    packets["offset"], packets["flags"] = 0x50, draw.integers(0, 64, rows)
    return struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, SNAP, 1) + packets.tobytes()


def _of_dpkt(file: Path) -> pa.Table:
    rows = []
    with file.open("rb") as opened:
        reader = dpkt.pcap.Reader(opened)
        for _, data in reader:
            ip = dpkt.ethernet.Ethernet(data).data
            rows.append((ip.v, int.from_bytes(ip.src, "big"), int.from_bytes(ip.dst, "big"), ip.p, ip.data.sport,
                         ip.data.dport, ip.data.flags))
    return pa.table(dict(zip(COLUMNS[1:], zip(*rows, strict=True), strict=True)))


def _same(ours: pa.Table, theirs: pa.Table) -> bool:
    return all(ours[name].cast(pa.int64()).equals(theirs[name].cast(pa.int64())) for name in COLUMNS
               if name in theirs.schema.names)

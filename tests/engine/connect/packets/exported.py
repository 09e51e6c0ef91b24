"""An exporter of NetFlow v5, v9 and IPFIX: it writes datagrams of flows, and says which rows they are."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass, field
from random import Random
from typing import Any

BOOT_MS = 1_700_000_000_000
V4 = [("src_ipv4", 8, 4), ("dst_ipv4", 12, 4), ("next_hop", 15, 4), ("src_as", 16, 4), ("dst_as", 17, 2)]
V6 = [("src_ip", 27, 16), ("dst_ip", 28, 16), ("vlan", 58, 2), ("next_hop", 62, 16)]
BOTH = [("bytes", 1, 8), ("packets", 2, 4), ("protocol", 4, 1), ("tos", 5, 1), ("tcp_flags", 6, 1), ("src_port", 7, 2),
        ("dst_port", 11, 2), ("input_interface", 10, 4), ("output_interface", 14, 2), ("direction", 61, 1)]
UPTIMES = [("time", 21, 4), ("flow_start", 22, 4)]
TIMES = {"ms": [("time", 153, 8), ("flow_start", 152, 8)], "s": [("time", 151, 4), ("flow_start", 150, 4)],
         "ntp": [("time", 157, 8), ("flow_start", 156, 8)], "before": [("time", 159, 4), ("flow_start", 158, 4)]}


def drawn(rng: Random, six: bool) -> dict[str, Any]:
    """A flow, by the names of columns."""
    start = BOOT_MS + rng.randrange(10**6) * 1000
    found = {name: rng.randrange(2 ** min(8 * size, 31)) for name, _, size in (*BOTH, *(V6 if six else V4))}
    made: Any = ipaddress.IPv6Address if six else ipaddress.IPv4Address
    for name in ("src_ip", "dst_ip", "next_hop"):
        address = made(rng.randrange(1, 2 ** (128 if six else 32)))
        found[name] = str(address)
        if not six and name != "next_hop":
            found[f"{name}v4"] = int(address)
    return {**found, "flow_start": start, "time": start + rng.randrange(60) * 1000}


@dataclass
class Exporter:
    """Writes datagrams, with sequence numbers."""

    rng: Random
    domain: int = 7
    sequences: dict[int, int] = field(default_factory=dict)

    def v5(self, flows: list[dict[str, Any]]) -> tuple[bytes, list[dict[str, Any]]]:
        export = max(flow["time"] for flow in flows) + 1234
        head = struct.pack(">HHIIIIBBH", 5, len(flows), export - BOOT_MS, export // 1000, export % 1000 * 10**6,
                           self._next(5, len(flows)), 0, 9, 0x4000 | 100)
        body, rows = b"", []
        for flow in flows:
            small = {**flow, "bytes": flow["bytes"] % 2**32, "input_interface": flow["input_interface"] % 2**16,
                     "src_as": flow["src_as"] % 2**16}
            body += struct.pack(
                ">III HH IIII HH BBBB HH BB H", flow["src_ipv4"], flow["dst_ipv4"],
                int(ipaddress.ip_address(flow["next_hop"])), small["input_interface"], flow["output_interface"],
                flow["packets"], small["bytes"], flow["flow_start"] - BOOT_MS, flow["time"] - BOOT_MS,
                flow["src_port"], flow["dst_port"], 0, flow["tcp_flags"], flow["protocol"], flow["tos"],
                small["src_as"], flow["dst_as"], 24, 16, 0)
            rows.append({**small, "direction": None, "src_prefix_length": 24, "dst_prefix_length": 16, "version": 5,
                         "sampling": 100, "source_id": 9})
        return head + body, rows

    def fields(self, version: int, six: bool, times: str) -> list[tuple[str, int, int]]:
        chosen = [*(V6 if six else V4), *BOTH, *(UPTIMES if version == 9 else TIMES[times])]
        self.rng.shuffle(chosen)
        return chosen

    def template(self, version: int, number: int, fields: list[tuple[str, int, int]], odd: bool = False) -> bytes:
        """The set of a template; `odd` adds a field of an enterprise and one without a fixed size."""
        text = b"".join(struct.pack(">HH", element, size) for _, element, size in fields)
        if odd:
            text = struct.pack(">HHI", 0x8000 | 12, 3, 99) + text + struct.pack(">HH", 82, 65535)
        return self._set(0 if version == 9 else 2, struct.pack(">HH", number, len(fields) + 2 * odd) + text)

    def data(self, version: int, number: int, fields: list[tuple[str, int, int]], flows: list[dict[str, Any]],
             export: int, odd: bool = False) -> tuple[bytes, list[dict[str, Any]]]:
        body = b""
        for flow in flows:
            record = b"".join(self._value(version, element, size, flow[name], export) for name, element, size in fields)
            name = self.rng.choice([b"", b"eth0", b"x" * 300])
            length = bytes([len(name)]) if len(name) < 255 else b"\xff" + struct.pack(">H", len(name))
            body += b"abc" + record + length + name if odd else record
        names = {name for name, _, _ in fields}
        rows = [{**{name: flow[name] for name in names | {"src_ip", "dst_ip"}}, "version": version,
                 "source_id": self.domain} for flow in flows]
        return self._set(number, body), rows

    def options(self, version: int, number: int, sampling: int) -> bytes:
        """Sets of an options template and its data."""
        if version == 9:
            template = struct.pack(">HHHHHHH", number, 4, 8, 1, 4, 34, 4) + struct.pack(">HH", 35, 1)
            return self._set(1, template) + self._set(number, struct.pack(">IIB", 1, sampling, 1))
        template = struct.pack(">HHHHHHHHH", number, 3, 1, 149, 4, 305, 4, 306, 4)
        return self._set(3, template) + self._set(number, struct.pack(">III", 1, 1, sampling - 1))

    def datagram(self, version: int, sets: list[bytes], export: int, records: int) -> bytes:
        body = b"".join(sets)
        if version == 9:
            return struct.pack(">HHIIII", 9, len(sets), export - BOOT_MS, export // 1000, self._next(9, 1),
                               self.domain) + body
        return struct.pack(">HHIII", 10, 16 + len(body), export // 1000, self._next(10, records), self.domain) + body

    def _next(self, version: int, count: int) -> int:
        found = self.sequences.get(version, 2**32 - 5)
        self.sequences[version] = (found + count) % 2**32
        return found

    def _set(self, number: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack(">HH", number, 4 + len(body)) + body

    def _value(self, version: int, element: int, size: int, value: Any, export: int) -> bytes:
        match element:
            case 21 | 22:
                value -= BOOT_MS
            case 150 | 151:
                value //= 1000
            case 156 | 157:
                value = (value // 1000 + 2_208_988_800 << 32) + value % 1000 * 2**32 // 1000
            case 158 | 159:
                value = (export - value) * 1000
            case 15 | 27 | 28 | 62:
                return ipaddress.ip_address(value).packed
        return int(value).to_bytes(size, "big")

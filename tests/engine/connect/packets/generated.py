"""Packets of every kind, drawn by seed, and files of them."""

from __future__ import annotations

import io
import struct
from random import Random

import dpkt

Drawn = tuple[int, bytes]
"""Nanoseconds since 1970, and the bytes of a frame."""


def frames(draw: Random, count: int) -> list[Drawn]:
    """Frames of Ethernet in order of time."""
    now, found = 1_700_000_000 * 10**9, []
    for _ in range(count):
        now += draw.randrange(0, 5_000_000) * 1000
        found.append((now, frame(draw)))
    return found


def frame(draw: Random) -> bytes:
    """A frame: of VLANs or not, of IPv4, IPv6 or ARP."""
    kind = draw.choice(["ip", "ip", "ip", "ip6", "ip6", "arp"])
    data, type_ = {"ip": (ipv4, dpkt.ethernet.ETH_TYPE_IP), "ip6": (ipv6, dpkt.ethernet.ETH_TYPE_IP6),
                   "arp": (lambda _: bytes(dpkt.arp.ARP()), dpkt.ethernet.ETH_TYPE_ARP)}[kind]
    head = draw.randbytes(12)
    tags = b"".join(struct.pack(">HH", draw.choice([0x8100, 0x88A8]), draw.randrange(1 << 16))
                    for _ in range(draw.choice([0, 0, 0, 1, 2])))
    return head + tags + struct.pack(">H", type_) + data(draw)


def ipv4(draw: Random) -> bytes:
    protocol, data = transport(draw)
    packet = dpkt.ip.IP(src=draw.randbytes(4), dst=bytes([10, 0, 0, draw.randrange(4)]), p=protocol, data=data,
                        ttl=draw.randrange(256), tos=draw.randrange(256), id=draw.randrange(1 << 16),
                        opts=draw.choice([b"", b"", b"\x01\x01\x01\x00"]))
    packet.hl = 5 + len(packet.opts) // 4
    packet.len = packet.hl * 4 + len(data)
    if draw.random() < 0.1:
        packet._flags_offset = draw.choice([0x2000, 0x2000 + draw.randrange(1, 100), draw.randrange(1, 100), 0x4000])
    return bytes(packet)


def ipv6(draw: Random) -> bytes:
    protocol, data = transport(draw)
    if protocol == dpkt.ip.IP_PROTO_ICMP:
        protocol = dpkt.ip.IP_PROTO_ICMP6
    for _ in range(draw.choice([0, 0, 0, 1, 2])):
        kind = draw.choice([0, 60, 44])
        extra = bytes([protocol, 0]) + (struct.pack(">HI", draw.choice([0, 1, 8]), 7) if kind == 44 else bytes(6))
        protocol, data = kind, extra + data
    head = struct.pack(">IHBB", 6 << 28 | draw.randrange(1 << 28), len(data), protocol, draw.randrange(256))
    return head + draw.randbytes(16) + bytes(15) + bytes([draw.randrange(4)]) + data


def transport(draw: Random) -> tuple[int, bytes]:
    ports = {"sport": draw.randrange(1 << 16), "dport": draw.choice([80, 443, draw.randrange(1 << 16)])}
    data = draw.randbytes(draw.randrange(0, 60))
    match draw.choice(["tcp", "tcp", "udp", "dns", "icmp", "other"]):
        case "tcp":
            opts = draw.choice([b"", b"\x02\x04\x05\xb4"])
            packet = dpkt.tcp.TCP(**ports, seq=draw.randrange(1 << 32), ack=draw.randrange(1 << 32), opts=opts,
                                  flags=draw.randrange(64), win=draw.randrange(1 << 16), data=data)
            packet.off = 5 + len(opts) // 4
            return dpkt.ip.IP_PROTO_TCP, bytes(packet)
        case "udp":
            return dpkt.ip.IP_PROTO_UDP, bytes(dpkt.udp.UDP(**ports, ulen=8 + len(data), data=data))
        case "dns":
            ports[draw.choice(["sport", "dport"])] = 53
            message = dns(draw)
            return dpkt.ip.IP_PROTO_UDP, bytes(dpkt.udp.UDP(**ports, ulen=8 + len(message), data=message))
        case "icmp":
            return dpkt.ip.IP_PROTO_ICMP, bytes([draw.randrange(20), draw.randrange(5)]) + draw.randbytes(10)
    return draw.choice([2, 47, 89]), data


def dns(draw: Random) -> bytes:
    name = ".".join("".join(draw.choices("abcxyz-019", k=draw.randrange(1, 12))) for _ in range(draw.randrange(1, 5)))
    message = dpkt.dns.DNS(id=draw.randrange(1 << 16), qd=[dpkt.dns.DNS.Q(name=name, type=draw.choice([1, 28, 16]))])
    message.qr, message.rcode = draw.randrange(2), draw.choice([0, 0, 3])
    return bytes(message)


def as_pcap(packets: list[Drawn], *, snap: int = 65_535, nanoseconds: bool = False, order: str = "<") -> bytes:
    magic, unit = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    parts = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, snap, 1)]
    for time, data in packets:
        kept = data[:snap]
        parts += [struct.pack(f"{order}4I", time // 10**9, time % 10**9 // unit, len(kept), len(data)), kept]
    return b"".join(parts)


def as_pcapng(packets: list[Drawn]) -> bytes:
    out = io.BytesIO()
    writer = dpkt.pcapng.Writer(out)
    for time, data in packets:
        writer.writepkt(data, ts=time // 1000 / 1e6)
    return out.getvalue()

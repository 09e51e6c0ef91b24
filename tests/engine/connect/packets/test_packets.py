"""Packets of captures: fields against dpkt, files in every form, damage, and mutated bytes."""

from __future__ import annotations

import gzip
import ipaddress
import logging
import os
import struct
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import dpkt
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.connect.packets.generated import as_pcap, as_pcapng, frames
from whimbrel import col
from whimbrel.connect.packets.packet_columns import COLUMNS
from whimbrel.errors import DisorderError, SourceError

TCP_FLAGS = ("fin", "syn", "rst", "psh", "ack", "urg")


def rows(file: Path, *columns: str, **options: Any) -> list[dict[str, Any]]:
    return wb.read_pcap(file, **options).select(*columns).collect().drop(["start", "end"]).to_pylist()


def expected(data: bytes) -> dict[str, Any]:
    """What dpkt reads of a frame that is whole."""
    at, vlan = 12, None
    while data[at:at + 2] in (b"\x81\x00", b"\x88\xa8"):
        vlan = int.from_bytes(data[at + 2:at + 4], "big") & 0xFFF if vlan is None else vlan
        at += 4
    type_ = int.from_bytes(data[at:at + 2], "big")
    row: dict[str, Any] = dict.fromkeys(COLUMNS)
    row |= {"eth_dst": data[:6].hex(":"), "eth_src": data[6:12].hex(":"), "ether_type": type_, "vlan": vlan}
    body, fragment, first = data[at + 2:], False, True
    if type_ == dpkt.ethernet.ETH_TYPE_IP:
        head = dpkt.ip.IP(body)
        piece = head._flags_offset
        row |= {"ip_version": 4, "src_ipv4": int.from_bytes(head.src, "big"),
                "dst_ipv4": int.from_bytes(head.dst, "big"), "protocol": head.p, "ttl": head.ttl, "tos": head.tos,
                "ip_length": head.len, "ip_id": head.id, "dont_fragment": bool(piece & 0x4000),
                "more_fragments": bool(piece & 0x2000), "fragment_offset": piece & 0x1FFF}
        fragment, first, data = bool(piece & 0x3FFF), not piece & 0x1FFF, body[head.hl * 4:head.len]
    elif type_ == dpkt.ethernet.ETH_TYPE_IP6:
        row |= {"ip_version": 6, "ttl": body[7], "tos": int.from_bytes(body[:2], "big") >> 4 & 255}
        protocol, data = body[6], body[40:]
        while protocol in (0, 60, 44) and first:
            fragment |= protocol == 44
            first = protocol != 44 or int.from_bytes(data[2:4], "big") >> 3 == 0
            protocol, data = data[0], data[8:]
        row["protocol"] = protocol
    else:
        return row
    row["problem"] = "fragment" if fragment else None
    source, target = (body[12:16], body[16:20]) if row["ip_version"] == 4 else (body[8:24], body[24:40])
    row |= {"src_ip": str(ipaddress.ip_address(source)), "dst_ip": str(ipaddress.ip_address(target))}
    if first:
        row |= of_transport(row["protocol"], data)
    return row


def of_transport(protocol: int, data: bytes) -> dict[str, Any]:
    if protocol == dpkt.ip.IP_PROTO_TCP:
        tcp = dpkt.tcp.TCP(data)
        return {"src_port": tcp.sport, "dst_port": tcp.dport, "seq": tcp.seq, "ack_number": tcp.ack,
                "tcp_flags": tcp.flags, "window": tcp.win, "payload": tcp.data, "payload_length": len(tcp.data),
                **{name: bool(tcp.flags >> bit & 1) for bit, name in enumerate(TCP_FLAGS)}}
    if protocol == dpkt.ip.IP_PROTO_UDP:
        udp = dpkt.udp.UDP(data)
        found = {"src_port": udp.sport, "dst_port": udp.dport, "udp_length": udp.ulen, "payload": udp.data,
                 "payload_length": len(udp.data)}
        if 53 in (udp.sport, udp.dport):
            message = dpkt.dns.DNS(udp.data)
            found |= {"dns_id": message.id, "dns_response": bool(message.qr), "dns_opcode": message.opcode,
                      "dns_rcode": message.rcode, "dns_answers": len(message.an), "dns_name": message.qd[0].name,
                      "dns_type": message.qd[0].type}
        return found
    if protocol in (1, 58):
        payload = data[8 if protocol == 1 else 4:]
        return {"icmp_type": data[0], "icmp_code": data[1], "payload": payload, "payload_length": len(payload)}
    return {"payload": data, "payload_length": len(data)}


@pytest.mark.parametrize("seed", range(3))
def test_every_field_equals_dpkts(tmp_path: Path, seed: int) -> None:
    drawn = frames(Random(seed), 400)
    (tmp_path / "log.pcap").write_bytes(as_pcap(drawn))
    whole = [name for name in COLUMNS if name not in ("time", "interface", "length", "captured_length")]
    assert rows(tmp_path / "log.pcap", *whole) == [{name: expected(data)[name] for name in whole} for _, data in drawn]


@pytest.mark.parametrize("form", ["pcap", "nanoseconds", "big-endian", "gzip", "pcapng", "several"])
def test_forms_of_files_have_one_answer(tmp_path: Path, form: str) -> None:
    drawn = frames(Random(7), 300)
    files = {"pcap": as_pcap(drawn), "nanoseconds": as_pcap(drawn, nanoseconds=True),
             "big-endian": as_pcap(drawn, order=">"), "gzip": gzip.compress(as_pcap(drawn)),
             "pcapng": as_pcapng(drawn)}
    if form == "several":
        for part in range(3):
            (tmp_path / f"log-{part}.pcap").write_bytes(as_pcap(drawn[part * 100:part * 100 + 100]))
    else:
        (tmp_path / f"log.pcap{'ng' * (form == 'pcapng')}{'.gz' * (form == 'gzip')}").write_bytes(files[form])
    table = wb.read_pcap(tmp_path).select("time", "length", "src_ip").collect()
    assert table["time"].cast("int64").to_pylist() == [time for time, _ in drawn]
    assert table["length"].to_pylist() == [len(data) for _, data in drawn]
    assert table["src_ip"].to_pylist() == [expected(data)["src_ip"] for _, data in drawn]


def test_what_was_not_captured_is_null(tmp_path: Path) -> None:
    drawn = frames(Random(3), 200)
    file = tmp_path / "log.pcap"
    for snap in (0, 13, 20, 40, 54, 60):
        file.write_bytes(as_pcap(drawn, snap=snap))
        for (_, data), row in zip(drawn, rows(file, *COLUMNS), strict=True):
            whole = expected(data)
            assert row["length"] == len(data)
            assert row["captured_length"] == min(snap, len(data))
            for name in ("src_ip", "src_port", "seq", "ttl", "protocol", "payload_length", "dns_name", "eth_src"):
                assert row[name] in (None, whole[name]), (snap, name, data.hex())
            if len(data) > snap and whole["ip_version"] and row["problem"] != "fragment":
                assert row["problem"] == "truncated"


def test_interfaces_of_pcapng_have_own_clocks_and_link_types(tmp_path: Path) -> None:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<2I", kind, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))

    def interface(link: int, resolution: int, seconds: int = 0) -> bytes:
        options = struct.pack("<2HB3x", 9, 1, resolution) + struct.pack("<2Hq", 14, 8, seconds)
        return block(1, struct.pack("<2HI", link, 0, 0) + options)

    def packet(number: int, ticks: int, data: bytes) -> bytes:
        return block(6, struct.pack("<5I", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data)) + data)

    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    ip = bytes.fromhex("4500001c00010000401100000a0000010a000002" "3039003500080000")
    seconds = 1_700_000_000
    file = tmp_path / "log.pcapng"
    file.write_bytes(
        section + interface(1, 6) + interface(101, 9) + interface(101, 12, seconds) + interface(101, 0x80 | 32)
        + packet(1, seconds * 10**9 + 7, ip) + block(5, bytes(8)) + packet(2, 8_001, ip)
        + packet(3, (seconds << 32) + (1 << 31), ip) + packet(9, 0, ip) + block(3, struct.pack("<I", 4) + ip[:4])
        + section + interface(101, 6) + packet(0, (seconds + 1) * 10**6, ip))
    log = wb.read_pcap(file)
    found = log.select("time", "interface", "dst_port").collect()
    times = found["time"].cast("int64").to_pylist()
    assert [each - seconds * 10**9 for each in times] == [7, 8, 500_000_000, 10**9]
    assert found["interface"].to_pylist() == [1, 2, 3, 0]
    assert found["dst_port"].to_pylist() == [53] * 4
    assert log.node.op.problems == {"packets without a time": 1,
                                    "packets of an interface that the file does not describe": 1}


def test_packets_of_another_link_type_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = bytearray(as_pcap(frames(Random(5), 3)))
    whole[20:24] = struct.pack("<I", 105)
    (tmp_path / "log.pcap").write_bytes(whole)
    with caplog.at_level(logging.WARNING):
        assert rows(tmp_path / "log.pcap", "src_ip") == [{"src_ip": None}] * 3
    assert "3 packets of link type 105, which is not decoded" in caplog.text


def test_a_cut_end_and_a_damaged_record_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    drawn = frames(Random(5), 50)
    file = tmp_path / "log.pcap"
    file.write_bytes(as_pcap(drawn)[:-3])
    with caplog.at_level(logging.WARNING):
        assert len(rows(file, "length")) == 49
    assert f"{16 + len(drawn[-1][1]) - 3} bytes after the last complete packet" in caplog.text
    whole = bytearray(as_pcap(drawn))
    second = 24 + 16 + len(drawn[0][1])
    whole[second + 8:second + 12] = b"\xff\xff\xff\x7f"
    file.write_bytes(whole)
    log = wb.read_pcap(file)
    assert log.select("length").collect().num_rows == 1
    assert log.node.op.problems["a record with an impossible length, and all after it"] == 1


@pytest.mark.parametrize(("ending", "codec"), [("gz", "gzip"), ("bz2", "bz2"), ("zst", "zstd"), ("lz4", "lz4"),
                                               ("br", "brotli")])
def test_a_cut_compressed_file_is_counted_and_a_damaged_one_refused(tmp_path: Path, ending: str, codec: str) -> None:
    drawn = frames(Random(6), 2_000)
    file = tmp_path / f"log.pcap.{ending}"
    with pa.output_stream(file, compression=codec) as out:
        out.write(as_pcap(drawn))
    packed = file.read_bytes()
    for kept in (1, 30, 3 * len(packed) // 4, len(packed) - 1, len(packed)):
        file.write_bytes(packed[:kept])
        log = wb.read_pcap(file)
        found = log.select("length").collect()["length"].to_pylist()
        assert found == [len(data) for _, data in drawn[:len(found)]]
        assert log.node.op.problems["compressed files that are cut"] == (kept < len(packed))
        assert len(found) == len(drawn) or kept < len(packed)
    file.write_bytes(packed[:3] + bytes(40) + packed[43:])
    with pytest.raises(SourceError, match="its compressed data is damaged"):
        rows(file, "length")


def test_bad_files_are_refused_in_words(tmp_path: Path) -> None:
    file = tmp_path / "log.pcap"
    file.write_bytes(b"not a capture at all")
    with pytest.raises(SourceError) as refused:
        wb.read_pcap(file)
    assert "cannot be read as a capture: it does not begin as pcap or pcapng do." in str(refused.value)
    assert "tcpdump or Wireshark" in str(refused.value)
    with pytest.raises(SourceError, match="There is no file"):
        wb.read_pcap(tmp_path / "absent.pcap")
    with pytest.raises(SourceError, match="list of files is empty"):
        wb.read_pcap([])
    file.write_bytes(struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x12345678, 1, 0, -1, 28))
    with pytest.raises(SourceError, match="its first block has no byte order"):
        wb.read_pcap(file)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="only once") as refused:
        wb.read_pcap(tmp_path / "pipe")
    assert "wb.feeds.pcap(" in refused.value.hint
    drawn = frames(Random(5), 2)
    file.write_bytes(as_pcap(drawn[::-1]))
    with pytest.raises(DisorderError):
        rows(file, "length")
    assert len(rows(file, "length", reorder_latency="5s")) == 2


def test_names_of_dns_that_are_cut_malformed_or_endless_are_null(tmp_path: Path) -> None:
    def message(name: bytes) -> bytes:
        return struct.pack(">6H", 1, 0, 1, 0, 0, 0) + name

    cases = {message(b"\x01a\x00\x00\x01\x00\x01"): "a", message(b"\x00\x00\x01\x00\x01"): ".",
             message(b"\x03a.b\x01\xff\x00\x00\x01\x00\x01"): r"a\046b.\255", message(b"\x05abc"): None,
             message(b"\xc0\x0c\x00\x01"): None, message(b"\x01a\xc0\x0c"): None, message(b"\x41a"): None,
             message((b"\x3f" + b"a" * 63) * 5 + b"\x00\x00\x01"): None}
    sent = []
    for data in cases:
        udp = bytes(dpkt.udp.UDP(sport=1, dport=53, ulen=8 + len(data), data=data))
        ip = bytes(dpkt.ip.IP(p=17, len=20 + len(udp), data=udp))
        sent.append((10**18, bytes(12) + b"\x08\x00" + ip))
    (tmp_path / "log.pcap").write_bytes(as_pcap(sent))
    assert [row["dns_name"] for row in rows(tmp_path / "log.pcap", "dns_name")] == [*cases.values()]


@pytest.mark.parametrize("count", [300, pytest.param(200_000, marks=pytest.mark.long),
                                   pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_mutated_packets_never_fail_and_counts_reconcile(tmp_path: Path, count: int) -> None:
    draw = Random(count)
    packets, drawn = [], frames(draw, min(count, 10_000))
    for number in range(count):  # dpkt takes long to write frames: each is mutated often
        time, bytes_ = drawn[0][0] + number, bytearray(drawn[number % len(drawn)][1])
        for _ in range(draw.randrange(4)):
            bytes_[draw.randrange(12, len(bytes_))] = draw.randrange(256)
        packets.append((time, bytes(bytes_[:draw.randrange(len(bytes_) + 1)] if draw.random() < 0.2 else bytes_)))
    (tmp_path / "log.pcap").write_bytes(as_pcap(packets))
    log = wb.read_pcap(tmp_path / "log.pcap")
    found = log.select(*COLUMNS).collect()
    assert found.num_rows == count
    counts = Counter(each for each in found["problem"].to_pylist() if each)
    assert counts == log.node.op.problems
    assert found["payload_length"].null_count < count


@pytest.mark.parametrize("form", [as_pcap, as_pcapng])
def test_mutated_files_never_fail(tmp_path: Path, form: Any) -> None:
    draw, whole = Random(11), form(frames(Random(2), 60))
    file = tmp_path / "log.pcap"
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(draw.randrange(1, 6)):
            data[draw.randrange(24, len(data))] = draw.randrange(256)
        file.write_bytes(data[:draw.randrange(28, len(data) + 1)])
        log = wb.read_pcap(file, reorder_latency=0, late="drop")
        assert log.select("time", "dns_name", "payload").collect().num_rows <= 61


def test_a_query_counts_packets_by_address(tmp_path: Path) -> None:
    drawn = frames(Random(4), 300)
    (tmp_path / "log.pcap").write_bytes(as_pcap(drawn))
    log = wb.read_pcap(tmp_path / "log.pcap").where(col.protocol == 6)
    counted = log.group_by("dst_ip").tumbling_window("1h").aggregate(n=wb.count()).collect()
    wanted = Counter(row["dst_ip"] for row in (expected(data) for _, data in drawn) if row["protocol"] == 6)
    found: Counter[str] = Counter()
    for row in counted.to_pylist():
        found[row["dst_ip"]] += row["n"]
    assert found == wanted


def test_the_page_has_all_columns() -> None:
    page = (Path(__file__).parents[4] / "docs/how-to/packets.md").read_text()
    for name, column in COLUMNS.items():
        assert f"| `{name}` | {column.type} | {column.summary} |" in page

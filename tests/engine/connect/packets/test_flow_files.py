"""Flows of captures: datagrams of an exporter of our own, among other packets, damaged and in several files."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import dpkt
import pytest

import whimbrel as wb
from tests.engine.connect.packets.exported import BOOT_MS, Exporter, drawn
from tests.engine.connect.packets.generated import as_pcap
from whimbrel.connect.packets.flow_decoder import LOST_FLOWS, UNKNOWN
from whimbrel.errors import PlanError

Row = dict[str, Any]
LATER = BOOT_MS + 1_001_000_000


def packet(data: bytes, port: int = 2055) -> bytes:
    udp = bytes(dpkt.udp.UDP(sport=9, dport=port, ulen=8 + len(data), data=data))
    return bytes(12) + b"\x08\x00" + bytes(dpkt.ip.IP(src=bytes([192, 0, 2, 1]), dst=bytes(4), p=17,
                                                     len=20 + len(udp), data=udp))


def capture(path: Path, frames: list[bytes], cut_bytes: int = 0) -> None:
    written = as_pcap([(LATER * 10**6 + number, data) for number, data in enumerate(frames)])
    path.write_bytes(written[:len(written) - cut_bytes])


def ipfix(rng: Random, exporter: Exporter, rows: int, *, with_template: bool) -> tuple[bytes, list[Row]]:
    fields = [("src_port", 7, 2), ("bytes", 1, 8), ("time", 153, 8), ("flow_start", 152, 8)]
    body, _ = exporter.data(10, 256, fields, flows := [drawn(rng, six=False) for _ in range(rows)], LATER)
    sets = [exporter.template(10, 256, fields)] if with_template else []
    return exporter.datagram(10, [*sets, body], LATER, rows), flows


def expected(flows: list[Row]) -> list[Row]:
    return [{name: flow[name] for name in ("time", "src_port", "bytes")}
            for flow in sorted(flows, key=lambda flow: (flow["time"], flow["src_port"]))]


def found(log: wb.Stream) -> list[Row]:
    rows = log.select("time", "src_port", "bytes").collect().drop(["start", "end"]).to_pylist()
    for row in rows:
        row["time"] = round(row["time"].timestamp() * 1000)
    return sorted(rows, key=lambda row: (row["time"], row["src_port"]))


def test_flows_of_several_files_among_other_packets(tmp_path: Path) -> None:
    rng = Random(1)
    exporter = Exporter(rng)
    five, of_five = exporter.v5([drawn(rng, six=False) for _ in range(30)])
    first, flows = ipfix(rng, exporter, 7, with_template=True)
    second, more = ipfix(rng, exporter, 4, with_template=False)
    _, lost = ipfix(rng, exporter, 3, with_template=False)
    third, last = ipfix(rng, exporter, 5, with_template=False)
    folder = tmp_path / "captures"
    folder.mkdir()
    capture(folder / "log-1.pcap", [packet(five), packet(b"\0\x09 an answer", 53), packet(first), bytes(60)])
    capture(folder / "log-2.pcap", [packet(second), packet(third), packet(second)[:90]])
    log = wb.read_netflow(folder, port=2055)
    assert found(log) == expected([*of_five, *flows, *more, *last])
    assert set(log.select("exporter").collect()["exporter"].to_pylist()) == {"192.0.2.1"}
    assert log.node.op.problems == {"truncated": 1, LOST_FLOWS: len(lost)}
    everywhere = wb.read_netflow(folder)
    assert found(everywhere) == found(log)
    assert everywhere.node.op.problems["a header that is cut off"] == 1
    source = log.node.op
    for offset in (0, 3, 30, 37, 45, 46):
        batches = [batch for batch in source.read(["src_port"], offset) if batch is not None]
        assert sum(map(len, batches)) == 46 - offset


def test_what_has_no_template_and_a_cut_end_are_counted(tmp_path: Path) -> None:
    rng = Random(2)
    datagram, _ = ipfix(rng, Exporter(rng), 2, with_template=False)
    capture(tmp_path / "log.pcap", [packet(datagram), packet(datagram)], cut_bytes=5)
    log = wb.read_netflow(tmp_path / "log.pcap")
    assert log.collect().num_rows == 0
    assert log.node.op.problems == {UNKNOWN: 1, "bytes after the last complete packet": 16 + len(packet(datagram)) - 5}


def test_a_wrong_port_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="port must be an integer from 1 to 65535, got 0"):
        wb.read_netflow(tmp_path, port=0)

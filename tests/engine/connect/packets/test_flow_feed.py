"""Flows of NetFlow and IPFIX: real datagrams of an exporter of our own, in any state of damage."""

from __future__ import annotations

import json
import socket
import struct
from collections import Counter
from random import Random
from typing import Any

import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import reading, rows, until
from tests.engine.connect.packets.exported import BOOT_MS, Exporter, drawn
from whimbrel import col
from whimbrel.connect.packets import flow_decoder
from whimbrel.connect.packets.flow_columns import FLOW_COLUMNS, FlowColumns
from whimbrel.connect.packets.flow_decoder import LOST_DATAGRAMS, LOST_FLOWS, UNKNOWN, FlowDecoder
from whimbrel.connect.packets.flow_feed import FlowFeed
from whimbrel.connect.packets.flow_templates import MalformedError
from whimbrel.errors import PlanError

Row = dict[str, Any]
LATER = BOOT_MS + 1_001_000_000
TIMES = ("time", "flow_start")


def decoded(decoder: FlowDecoder) -> list[Row]:
    found = decoder.take()
    if not found:
        return []
    batch = FlowColumns().rows(found)
    batch.validate(full=True)
    assert batch.schema.names == list(FLOW_COLUMNS)
    for name in (*TIMES, "export_time"):
        batch = batch.set_column(batch.schema.names.index(name), name, batch[name].cast("int64"))
    return batch.to_pylist()


def same(found: list[Row], wanted: list[Row]) -> None:
    """Whether each row has the values of the flow that was exported."""
    assert len(found) == len(wanted)
    for row, flow in zip(found, wanted, strict=True):
        times = {name: 10**6 * flow[name] for name in TIMES}
        assert row.items() >= {**flow, **times}.items()


def exported(rng: Random, exporter: Exporter, version: int, times: str = "ms") -> tuple[list[bytes], list[Row]]:
    """Datagrams of three kinds of flows, and their rows."""
    sets: list[bytes] = []
    wanted: list[Row] = []
    for number, six, odd in ((256, False, False), (300, True, False), (400, False, version == 10)):
        fields = exporter.fields(version, six, times)
        flows = [drawn(rng, six) for _ in range(rng.randrange(1, 6))]
        if times == "before":  # microseconds in 32 bits
            for flow in flows:
                flow["time"] = flow["flow_start"] = LATER - rng.randrange(4_000_000)
        body, made = exporter.data(version, number, fields, flows, LATER, odd)
        sets += [exporter.template(version, number, fields, odd), body]
        wanted += made
    return [exporter.datagram(version, sets, LATER, len(wanted))], wanted


@pytest.mark.parametrize("seed", [0, *(pytest.param(each, marks=pytest.mark.long) for each in range(1, 30))])
@pytest.mark.parametrize(("version", "times"),
                         [(5, ""), (9, ""), *((10, each) for each in ("ms", "s", "ntp", "before"))])
def test_rows_are_what_was_exported(version: int, times: str, seed: int) -> None:
    rng = Random(seed)
    exporter, decoder = Exporter(rng), FlowDecoder()
    for _ in range(3):
        if version == 5:
            datagram, wanted = exporter.v5([drawn(rng, six=False) for _ in range(rng.randrange(1, 31))])
            datagrams = [datagram]
        else:
            datagrams, wanted = exported(rng, exporter, version, times)
        for datagram in datagrams:
            decoder.decode(datagram, "192.0.2.1")
        found = decoded(decoder)
        same(found, wanted)
        assert {row["exporter"] for row in found} == {"192.0.2.1"}
        assert {row["ip_version"] for row in found} == ({4} if version == 5 else {4, 6})
    assert not +decoder.lost


@pytest.mark.parametrize("version", [9, 10])
def test_data_before_its_template_waits_in_bounds(version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(1)
    exporter, decoder = Exporter(rng), FlowDecoder()
    fields = exporter.fields(version, False, "ms")
    body, wanted = exporter.data(version, 256, fields, [drawn(rng, six=False)] * 3, LATER)
    decoder.decode(exporter.datagram(version, [body], LATER, 3), "a")
    assert decoder.take() == []
    decoder.decode(exporter.datagram(version, [exporter.template(version, 256, fields)], LATER, 0), "b")
    assert decoder.take() == []  # the template of another exporter
    decoder.decode(exporter.datagram(version, [exporter.template(version, 256, fields)], LATER, 0), "a")
    same(decoded(decoder), wanted)
    assert decoder.counts["sets that waited"] == 1
    monkeypatch.setattr(flow_decoder, "MAX_WAITING_BYTES", 2 * (len(body) + flow_decoder.SET_BYTES))
    for _ in range(5):
        decoder.decode(exporter.datagram(version, [body.replace(b"\x01\x00", b"\x02\x00", 1)], LATER, 3), "a")
    assert decoder.lost[UNKNOWN] == 3


def test_what_a_stranger_sends_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets without bytes do not wait, small ones count with their overhead, and the oldest sources are forgotten."""
    monkeypatch.setattr(flow_decoder, "MAX_WAITING_BYTES", 10 * flow_decoder.SET_BYTES)
    monkeypatch.setattr(flow_decoder, "MAX_SOURCES", 3)
    decoder = FlowDecoder()
    for domain in range(20):
        exporter = Exporter(Random(5), domain)
        empty, small = struct.pack(">HH", 256 + domain, 4), struct.pack(">HHI", 300 + domain, 8, 0)
        decoder.decode(exporter.datagram(10, [empty], LATER, 0), "a")
        decoder.decode(exporter.datagram(10, [empty, small], LATER, 1), "a")
    assert decoder.counts["sets that waited"] == 20
    assert +decoder.lost == {UNKNOWN: 11}
    assert len(decoder._expected) <= 3


@pytest.mark.parametrize("version", [9, 10])
def test_options_give_the_sampling_rate_and_are_no_flows(version: int) -> None:
    rng = Random(2)
    exporter, decoder = Exporter(rng), FlowDecoder()
    fields = exporter.fields(version, False, "ms")
    sets = [exporter.options(version, 512, 400), exporter.template(version, 256, fields)]
    body, wanted = exporter.data(version, 256, fields, [drawn(rng, six=False)], LATER)
    decoder.decode(exporter.datagram(version, [*sets, body], LATER, 2), "a")
    decoder.decode(exporter.datagram(version, [body], LATER, 1), "a")
    found = decoded(decoder)
    same(found, wanted * 2)
    assert [row["sampling"] for row in found] == [400, 400]
    assert decoder.counts["options templates"] == decoder.counts["templates"] == 1
    assert not +decoder.lost


@pytest.mark.parametrize("version", [5, 9, 10])
def test_gaps_in_sequence_numbers_are_lost_flows(version: int) -> None:
    rng = Random(3)
    exporter, decoder = Exporter(rng), FlowDecoder()
    fields = exporter.fields(10, False, "ms")

    def datagram() -> bytes:
        flows = [drawn(rng, six=False) for _ in range(4)]
        if version == 5:
            return exporter.v5(flows)[0]
        sets = [exporter.template(version, 256, fields), exporter.data(version, 256, fields, flows, LATER)[0]]
        return exporter.datagram(version, sets, LATER, 4)

    sent = [datagram() for _ in range(9)]
    reason, each = (LOST_DATAGRAMS, 1) if version == 9 else (LOST_FLOWS, 4)
    for number in (0, 1, 4, 5):
        decoder.decode(sent[number], "a")
    assert decoder.lost == {reason: 2 * each}
    decoder.decode(sent[2], "a")  # late
    assert decoder.lost[reason] == each
    decoder.decode(sent[6], "a")
    assert decoder.lost[reason] == each
    decoder.decode(sent[8], "b")  # another exporter
    assert decoder.lost[reason] == each


def test_withdrawn_and_changed_templates() -> None:
    rng = Random(4)
    exporter, decoder = Exporter(rng), FlowDecoder()
    for _ in range(2):
        fields = exporter.fields(10, False, "ms")
        body, wanted = exporter.data(10, 256, fields, [drawn(rng, six=False)], LATER)
        decoder.decode(exporter.datagram(10, [exporter.template(10, 256, fields), body], LATER, 1), "a")
        same(decoded(decoder), wanted)
    withdrawn = struct.pack(">HHHH", 2, 8, 256, 0)
    decoder.decode(exporter.datagram(10, [withdrawn, body], LATER, 1), "a")
    assert decoder.take() == []
    assert decoder.saved == []


WRONG = (b"", b"\0", b"\0\5", b"\0\7" + bytes(40), b"\0\5" + bytes(22) + b"x", b"\0\11" + bytes(10),
         b"\0\12\0\20" + bytes(11), b"\0\12\0\24" + bytes(12),
         b"\0\12\0\24" + bytes(12) + b"\0\2\0\3", b"\0\12\0\24" + bytes(12) + b"\0\5\0\4",
         b"\0\12\0\34" + bytes(12) + b"\0\2\0\14\1\0\0\1\0\1\0\0", b"\0\12\0\30" + bytes(12) + b"\0\2\0\10\1\0\0\7")


@pytest.mark.parametrize("datagram", WRONG, ids=lambda datagram: datagram.hex()[:24] or "empty")
def test_malformed_datagrams_are_refused(datagram: bytes) -> None:
    with pytest.raises(MalformedError):
        FlowDecoder().decode(datagram, "a")


@pytest.mark.parametrize(("seed", "count"), [
    (0, 600), *(pytest.param(each, 600, marks=pytest.mark.long) for each in range(1, 12)),
    pytest.param(12, 1_000_000, marks=pytest.mark.soak)])
def test_mutated_datagrams_are_never_fatal(seed: int, count: int) -> None:
    rng = Random(seed)
    exporter, decoder = Exporter(rng), FlowDecoder()
    whole = [exporter.v5([drawn(rng, six=False) for _ in range(5)])[0]]
    for version, times in ((9, ""), (10, "ms"), (10, "ntp"), (10, "before")):
        whole += exported(rng, exporter, version, times)[0]
        whole.append(exporter.datagram(version, [exporter.options(version, 512, 10)], LATER, 1))
    outcomes: Counter[bool] = Counter()
    for _ in range(count):
        data = bytearray(rng.choice(whole))
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[at] = rng.choice((0, 255, rng.randrange(256)))
                case 1:
                    data[at:at + 4] = rng.randbytes(4)
                case 2:
                    del data[at:]
                    data += b"\0"
                case _:
                    data[at:at] = rng.randbytes(rng.randrange(1, 9))
        try:
            decoder.decode(bytes(data[:65_000]), "a")
        except MalformedError:
            outcomes[False] += 1
        else:
            outcomes[True] += 1
        if outcomes.total() % 100 == 0 or outcomes.total() == count:
            assert all(row["time"] is not None for row in decoded(decoder))
    assert outcomes.total() == count
    assert min(outcomes.values()) > 50


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind(("127.0.0.1", 0))
        return int(link.getsockname()[1])


def bound(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        try:
            link.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def send(port: int, *datagrams: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        for datagram in datagrams:
            link.sendto(datagram, ("127.0.0.1", port))


@pytest.mark.fault("netflow", "garbage bytes")
@pytest.mark.fault("netflow", "client gone meanwhile")
def test_a_feed_receives_counts_and_resumes_with_its_templates() -> None:
    rng = Random(5)
    exporter, port = Exporter(rng), free_port()
    feed = wb.feeds.netflow(port, retry_backoff_s=(0.01, 0.05))
    source = feed.node.op
    assert isinstance(source, FlowFeed)
    fields = exporter.fields(10, True, "ms")
    body, wanted = exporter.data(10, 256, fields, [drawn(rng, six=True) for _ in range(2)], LATER)
    with reading(feed) as found:
        until(lambda: next(found) is None and bound(port))
        send(port, b"x", exporter.datagram(10, [exporter.template(10, 256, fields), body], LATER, 2))
        assert ports(rows(found, 2)) == [flow["src_port"] for flow in wanted]
        exporter.sequences[10] = (exporter.sequences[10] + 30) % 2**32
        send(port, exporter.datagram(10, [body], LATER, 2))
        assert len(ports(rows(found, 2))) == 2
        assert found.state.lost == {LOST_FLOWS: 30}
        offset = json.loads(json.dumps(found.offset))
    with reading(feed, offset) as found:
        until(lambda: next(found) is None and bound(port))
        send(port, exporter.datagram(10, [body], LATER, 2))  # its template came before
        assert ports(rows(found, 2)) == [flow["src_port"] for flow in wanted]
    assert source.counts["templates"] == 1
    assert source.dead_letters.counts == {"a datagram without a version": 1}


def ports(batches: list[Any]) -> list[int]:
    return [each for batch in batches for each in batch.column("src_port").to_arrow().to_pylist()]


def test_a_query_on_flows() -> None:
    rng = Random(6)
    exporter, port = Exporter(rng), free_port()
    flows = wb.feeds.netflow(port, reorder_latency="30d")
    run, = wb.start(flows.group_by("protocol").tumbling_window("1d").aggregate(sent=wb.sum(col.bytes * col.sampling)))
    until(lambda: run.metrics.feeds and bound(port))
    datagram, wanted = exporter.v5([drawn(rng, six=False) for _ in range(20)])
    send(port, datagram)
    until(lambda: run.metrics.feeds["netflow"].rows == 20)
    until(lambda: run.metrics.feeds["netflow"].queued_rows == 0)
    run.stop(drain=True)
    assert sum(run.snapshot().table["sent"].to_pylist()) == sum(100 * flow["bytes"] for flow in wanted)


def test_bad_options_are_refused_in_words() -> None:
    with pytest.raises(PlanError, match="port must be an integer from 0 to 65535, got 'x'"):
        wb.feeds.netflow("x")  # type: ignore[arg-type]

"""Every kind of query of TigonSQL's manual, in our spelling, on a generated capture; answers by plain loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import whimbrel as wb
from tests.engine.connect.packets.generated import Drawn, as_pcap, frame
from whimbrel.errors import SqlError

Packet = dict[str, Any]
COLUMNS = ("time", "src_ip", "dst_ip", "src_ipv4", "dst_ipv4", "protocol", "src_port", "dst_port", "length", "ttl",
           "syn", "ack", "fin", "payload_length", "problem")
COUNT = 3_000
SECOND = 10**9


def drawn(seed: int) -> list[Drawn]:
    """Frames of some minutes, most of them from few addresses."""
    draw = Random(seed)
    now, found = 1_700_000_040 * SECOND, []
    for _ in range(COUNT):
        now += draw.randrange(0, 200_000_000) // 1000 * 1000 + 1000
        data = bytearray(frame(draw))
        if data[12:14] == b"\x08\x00":
            data[26:29], data[29] = b"\x0a\x00\x01", draw.randrange(6)
        found.append((now, bytes(data)))
    return found


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> tuple[wb.Stream, wb.Stream, list[Packet]]:
    """Two interfaces as streams, and the packets of the first one."""
    folder = tmp_path_factory.mktemp("capture")
    for name, seed in (("eth0", 5), ("eth1", 6)):
        (folder / f"{name}.pcap").write_bytes(as_pcap(drawn(seed)))
    log = wb.read_pcap(folder / "eth0.pcap", name="eth0").select(*COLUMNS)
    return log, wb.read_pcap(folder / "eth1.pcap", name="eth1").select(*COLUMNS), plain(log)


def plain(log: wb.Stream) -> list[Packet]:
    """Packets as plain rows: `at` is in nanoseconds, `tb` the minute."""
    table = log.collect()
    at = table["time"].cast("int64").to_pylist()
    rows = table.select([name for name in COLUMNS if name != "time"]).to_pylist()
    return [{**row, "at": time, "tb": time // (60 * SECOND)} for time, row in zip(at, rows, strict=True)]


def by(rows: list[Packet], *names: str) -> dict[tuple[Any, ...], list[Packet]]:
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return groups


def total(rows: list[Packet], name: str = "length") -> int | None:
    values = [row[name] for row in rows if row[name] is not None]
    return sum(values) if values else None


MINUTE = "date_trunc('minute', time) AS tb"
TCP = "protocol = 6 AND src_ip IS NOT NULL"


def of_tcp(rows: list[Packet]) -> list[Packet]:
    return [row for row in rows if row["protocol"] == 6 and row["src_ip"] is not None]


def late_epochs(rows: list[Packet]) -> list[tuple[Any, ...]]:
    """Keys that have a SYN and a FIN in the same minute: the join of two aggregates on their epoch."""
    opened, closed = by([row for row in rows if row["syn"]], "tb", "src_ip"), by(
        [row for row in rows if row["fin"]], "tb", "src_ip")
    return [(*key, len(opened[key]), len(closed[key])) for key in opened if key in closed]


def pairs(rows: list[Packet]) -> list[tuple[Any, ...]]:
    """Packets of TCP and what came from the same address at most half a second later, by UDP."""
    udp = [row for row in rows if row["protocol"] == 17 and row["src_ip"] is not None]
    return [(one["at"], other["at"], one["src_ip"]) for one in of_tcp(rows) for other in udp
            if one["src_ip"] == other["src_ip"] and 0 <= other["at"] - one["at"] <= SECOND // 2]


QUERIES: dict[str, tuple[str, Callable[[list[Packet]], list[tuple[Any, ...]]]]] = {
    "selection": (f"SELECT src_ip, dst_port, length FROM eth0 WHERE {TCP} AND (dst_port IN (80, 443) OR length > 90)",
                  lambda rows: [(row["src_ip"], row["dst_port"], row["length"]) for row in of_tcp(rows)
                                if row["dst_port"] in (80, 443) or row["length"] > 90]),
    "arithmetic and bits": ("SELECT src_ipv4 & 255 AS low, length * 8 AS bits FROM eth0 WHERE src_ipv4 >> 8 = 655361",
                            lambda rows: [(row["src_ipv4"] & 255, row["length"] * 8) for row in rows
                                          if row["src_ipv4"] is not None and row["src_ipv4"] >> 8 == 655361]),
    "aggregation": (f"""SELECT src_ip, count(*) AS n, sum(length) AS bytes, max(ttl) AS t FROM eth0 WHERE {TCP}
                    GROUP BY {MINUTE}, src_ip""",
                    lambda rows: [(ip, len(some), total(some), max(row["ttl"] for row in some))
                                  for (_, ip), some in by(of_tcp(rows), "tb", "src_ip").items()]),
    "epoch of ten seconds": ("SELECT count(*) AS n FROM eth0 GROUP BY date_bin(INTERVAL '10 seconds', time) AS tb",
                             lambda rows: [(n,) for n in Counter(row["at"] // (10 * SECOND) for row in rows).values()]),
    "having": (f"SELECT src_ip, count(*) AS n FROM eth0 WHERE {TCP} GROUP BY {MINUTE}, src_ip HAVING count(*) > 12",
               lambda rows: [(ip, len(some)) for (_, ip), some in by(of_tcp(rows), "tb", "src_ip").items()
                             if len(some) > 12]),
    "key of an expression": (f"SELECT k, count(*) AS n FROM eth0 WHERE {TCP} GROUP BY {MINUTE}, dst_port < 1024 AS k",
                             lambda rows: [(low, n) for (_, low), n in Counter(
                                 (row["tb"], None if row["dst_port"] is None else row["dst_port"] < 1024)
                                 for row in of_tcp(rows)).items()]),
    "aggregate of aggregates": (
        f"""SELECT max(n) AS most FROM (SELECT tb, src_ip, count(*) AS n FROM eth0 WHERE {TCP}
        GROUP BY {MINUTE}, src_ip) c GROUP BY tb""",
        lambda rows: [(max(n for (at, _), n in _counts(rows).items() if at == tb),)
                      for tb in {row["tb"] for row in of_tcp(rows)}]),
    "join of epochs": (
        f"""SELECT s.src_ip, s.n, f.n AS m
        FROM (SELECT tb, src_ip, count(*) AS n FROM eth0 WHERE syn GROUP BY {MINUTE}, src_ip) s
        JOIN (SELECT tb, src_ip, count(*) AS n FROM eth0 WHERE fin GROUP BY {MINUTE}, src_ip) f
        ON s.src_ip = f.src_ip AND s.tb = f.tb""", lambda rows: [row[1:] for row in late_epochs(rows)]),
    "join of a window": (
        """SELECT a.src_ip, b.length AS l FROM eth0 a JOIN eth0 b ON a.src_ip = b.src_ip
        AND b.time BETWEEN a.time AND a.time + INTERVAL '500 milliseconds'
        WHERE a.protocol = 6 AND b.protocol = 17""",
        lambda rows: [(ip, next(row["length"] for row in rows if row["at"] == other)) for _, other, ip in pairs(rows)]),
    "a filter of Python": (f"SELECT dst_port FROM eth0 WHERE {TCP} AND is_web[dst_port]",
                           lambda rows: [(row["dst_port"],) for row in of_tcp(rows) if row["dst_port"] in (80, 443)]),
    "a function of addresses": ("SELECT ip_network(src_ip, 24) AS net FROM eth0 WHERE in_prefix(src_ip, '10.0.1.0/24')",
                                lambda rows: [("10.0.1.0",) for row in rows
                                              if (row["src_ip"] or "").startswith("10.0.1.")]),
    "distinct": (f"SELECT count(DISTINCT dst_port) AS n FROM eth0 WHERE {TCP} GROUP BY {MINUTE}",
                 lambda rows: [(len({row["dst_port"] for row in some} - {None}),)
                               for some in by(of_tcp(rows), "tb").values()]),
    "grouping sets": (
        f"SELECT src_ip, protocol, count(*) AS n FROM eth0 WHERE {TCP} GROUP BY {MINUTE}, CUBE(src_ip, protocol)",
        lambda rows: [(ip if one else None, protocol if other else None, n)
                      for one in (True, False) for other in (True, False)
                      for (_, ip, protocol), n in Counter(
                          (row["tb"], row["src_ip"] if one else 0, row["protocol"] if other else 0)
                          for row in of_tcp(rows)).items()]),
}


def _counts(rows: list[Packet]) -> Counter[Any]:
    return Counter((row["tb"], row["src_ip"]) for row in of_tcp(rows))


FUNCTIONS = {"is_web": lambda port: port.is_in([80, 443])}


def answer(stream: wb.Stream, names: int) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values())[-names:] for row in stream.collect().to_pylist()), key=str)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_answers_as_a_plain_loop(name: str, capture: tuple[wb.Stream, wb.Stream, list[Packet]]) -> None:
    log, _, packets = capture
    text, loop = QUERIES[name]
    expected = sorted(loop(packets), key=str)
    assert expected
    assert answer(wb.sql(text, eth0=log, functions=FUNCTIONS), len(expected[0])) == expected


def test_merge_of_two_interfaces(capture: tuple[wb.Stream, wb.Stream, list[Packet]]) -> None:
    eth0, eth1, packets = capture
    merged = wb.sql("MERGE a.time : b.time FROM eth0 a, eth1 b", eth0=eth0, eth1=eth1).collect()
    times = merged["time"].cast("int64").to_pylist()
    assert times == sorted([row["at"] for row in packets] + [row["at"] for row in plain(eth1)])


def test_a_sample_has_all_rows_of_its_keys(capture: tuple[wb.Stream, wb.Stream, list[Packet]]) -> None:
    eth0, _, packets = capture
    found = wb.sql("SELECT time, src_ip FROM SAMPLE(eth0, 0.5, src_ip)", eth0=eth0).collect()
    keys = set(found["src_ip"].to_pylist())
    assert found["time"].cast("int64").to_pylist() == [row["at"] for row in packets if row["src_ip"] in keys]
    assert 0.3 < len(keys) / len({row["src_ip"] for row in packets}) < 0.7


@pytest.mark.parametrize(("text", "words"), [
    (f"SELECT src_ip, count(*) AS n FROM eth0 GROUP BY {MINUTE}, src_ip SUPERGROUP tb", "SUPERGROUP"),
    (f"SELECT src_ip, count(*) AS n FROM eth0 GROUP BY {MINUTE}, src_ip CLEANING WHEN count(*) > 3", "CLEANING"),
    ("SELECT src_ip, count(*) AS n FROM eth0 GROUP BY src_ip", "no group is ever complete"),
    ("SELECT a.length FROM eth0 a JOIN eth0 b ON a.src_ip = b.src_ip", "relates no times"),
])
def test_what_has_no_answer_is_refused(text: str, words: str,
                                       capture: tuple[wb.Stream, wb.Stream, list[Packet]]) -> None:
    with pytest.raises(SqlError, match=words):
        wb.sql(text, eth0=capture[0])


def test_all_of_them_on_one_desk(tmp_path: Path) -> None:
    (tmp_path / "eth0.pcap").write_bytes(as_pcap(drawn(5)))
    log = wb.read_pcap(tmp_path / "eth0.pcap", name="eth0")
    packets = plain(log.select(*COLUMNS))
    desk = wb.desk(log)
    for name, (text, _) in QUERIES.items():
        desk.add(name, text, functions=FUNCTIONS)
    desk.run()
    for name, (_, loop) in QUERIES.items():
        expected = sorted(loop(packets), key=str)
        found = sorted((tuple(row.values())[-len(expected[0]):] for row in desk[name].table.to_pylist()), key=str)
        assert found == expected, name

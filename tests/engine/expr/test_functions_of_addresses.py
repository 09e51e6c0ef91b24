"""Functions of addresses, each against Python's ipaddress and the C library."""

from __future__ import annotations

import ipaddress
import socket
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import whimbrel as wb
from tests.engine.expr.tables import batch, values
from whimbrel import col
from whimbrel.errors import ExpressionError, WhimbrelError
from whimbrel.expr.functions_of_addresses import PRIVATE
from whimbrel.kernels import tier

ODD = [
    "", ":", "::", ":::", "::1", "1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1::2::3", "1:2:3",
    "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8", "::1:2:3:4:5:6:7:8", "12345::", "::g", "::1.2.3.4",
    "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "::1.2.3.4:5", "::1.2.3", "::ffff:1.2.3.4", "::ffff:0:1.2.3.4",
    "::01.2.3.4", "1:", ":1", "fe80::1%eth0", "0:0:1::", "1:0:0:2:0:0:0:3", "1:0:2:0:3:0:4:0", "ABCD::ef", "1.2.3.4",
    "0.0.0.0", "255.255.255.255", "256.1.1.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.04", "1..2.3", ".1.2.3",
    "1.2.3.", "1.2.3.4 ", " 1.2.3.4", "-1.2.3.4", "+1.2.3.4", "1.2.3.4/8", "٤.2.3.4", "host", "0000.1.2.3",
    "1.2.3.1000", "::00001", "0:0:0:0:0:0:0:0", "0:0:0:0:0:5:0:0", "::5", "::5:0", "::1:0:0", None,
]
NETS = ["10.0.0.0/8", "0.0.0.0/0", "255.255.255.255/32", "172.16.0.0/12", "2001:db8::/32", "::/0", "fe80::/10",
        "::ffff:0:0/96", "2001:db8::7/128", "1.2.3.4"]


def parsed(text):
    """As Python reads it, but without zones."""
    try:
        return None if text is None or "%" in text else ipaddress.ip_address(text)
    except ValueError:
        return None


def shown(address):
    return None if address is None else socket.inet_ntop(
        socket.AF_INET if address.version == 4 else socket.AF_INET6, address.packed)


def addresses(seed: int, count: int) -> list:
    rng = np.random.default_rng(seed)
    v4 = [ipaddress.IPv4Address(int(n)) for n in rng.integers(0, 2**32, count)]
    v4 += [ipaddress.ip_address(f"{a}.{b}.1.9") for a, b in ((10, 9), (172, 16), (172, 31), (172, 32), (192, 168))]
    words = rng.integers(0, 2**16, (count, 8)) * (rng.random((count, 8)) < rng.choice([0.1, 0.5, 0.9], (count, 1)))
    v6 = [ipaddress.IPv6Address(b"".join(int(word).to_bytes(2, "big") for word in row)) for row in words]
    return [*v4, *v6, ipaddress.ip_address("fd00::1"), ipaddress.ip_address("2001:db8::7")]


def spelled(address, rng) -> str:
    """One of the spellings of an address."""
    if address.version == 4 or rng.random() < 0.3:
        return str(address)
    text = address.exploded if rng.random() < 0.5 else str(address)
    return text.upper() if rng.random() < 0.5 else text


def check(texts: list, take=lambda x: x) -> None:
    found = [parsed(text) for text in texts]
    of = batch(s=take(pa.array(texts, pa.string())))
    numbers = [None if each is None or each.version == 6 else int(each) for each in found]
    packed = [None if each is None or each.version == 4 else each.packed for each in found]
    assert values(col.s.ip.to_text(), of) == list(map(shown, found))
    assert values(col.s.ip.version(), of) == [None if each is None else each.version for each in found]
    assert values(col.s.ip.to_ipv4(), of) == numbers
    assert values(col.s.ip.to_ipv6(), of) == packed
    both = batch(n=pa.array(numbers, pa.int64()), u=pa.array(numbers, pa.uint32()), b=pa.array(packed, pa.binary(16)))
    for x, version in ((col.n, 4), (col.u, 4), (col.b, 6)):
        ours = [each if each is not None and each.version == version else None for each in found]
        assert values(x.ip.to_text(), both) == list(map(shown, ours))
        assert values(x.ip.is_private(), both) == [None if each is None else private(each) for each in ours]
        wanted = [None if each is None else network(each, 12) for each in ours]
        assert values(x.ip.network(12).ip.to_text(), both) == wanted
    for bits in (0, 7, 24, 32, 48, 128):
        assert values(col.s.ip.network(bits), of) == [None if each is None else network(each, bits) for each in found]
    for prefix in NETS:
        inside = [None if each is None else each in ipaddress.ip_network(prefix) for each in found]
        assert values(col.s.ip.in_prefix(prefix), of) == inside


def network(address, bits: int) -> str:
    bits = min(bits, address.max_prefixlen)
    return shown(ipaddress.ip_network((address, bits), strict=False).network_address)


def private(address) -> bool:
    return any(address in ipaddress.ip_network(prefix) for prefix in PRIVATE)


def test_texts_are_read_as_python_reads_them() -> None:
    check(ODD, lambda x: pa.concat_arrays([x.slice(3, 4), x]).slice(4))
    check(ODD, pa.Array.dictionary_encode)
    check([None, None])
    check([])


@pytest.mark.parametrize("seed", [0, *(pytest.param(each, marks=pytest.mark.long) for each in range(1, 15))])
def test_random_addresses(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [spelled(each, rng) for each in addresses(seed, 150)]
    for text in texts[::3]:  # one letter is another
        at = int(rng.integers(len(text)))
        texts.append(text[:at] + str(rng.choice(list("0:.f%/g"))) + text[at + int(rng.integers(2)):])
    check(texts)


@pytest.mark.parametrize("name", ("interpreted", "primitives"))
def test_integers_outside_of_ipv4_are_null(name: str) -> None:
    with tier(name):
        odd = batch(n=pa.array([-1, 2**32, 2**32 - 1, -2**63]), i=pa.array([-1, 0, -128, 127], pa.int8()))
        assert values(col.n.ip.in_prefix("128.0.0.0/1"), odd) == [None, None, True, None]
        assert values(col.n.ip.network(8), odd) == [None, None, 255 << 24, None]
        assert values(col.i.ip.is_private(), odd) == [None, False, None, False]
    of = batch(n=pa.array([-1, 2**32, 2**32 - 1, None]), u=pa.array([2**64 - 1, 2**63, 0, 1], pa.uint64()))
    assert values(col.n.ip.to_text(), of) == [None, None, "255.255.255.255", None]
    assert values(col.u.ip.to_text(), of) == [None, None, "0.0.0.0", "0.0.0.1"]
    assert values(wb.lit("10.0.0.1").ip.to_ipv4(), of) == [10 * 2**24 + 1] * 4
    assert values(wb.lit(10 * 2**24).ip.in_prefix("10.0.0.0/31"), of) == [True] * 4


@pytest.mark.parametrize("type_", (pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()), ids=str)
def test_integers_are_as_their_texts(type_: pa.DataType) -> None:
    numbers = [0, 1, 7, 100, 127, *(() if type_.bit_width < 32 else (10 << 24, (11 << 24) - 1, 11 << 24, 2**31 - 1))]
    texts = pa.array([str(ipaddress.IPv4Address(number)) for number in numbers])
    for rows in (numbers, [*numbers[:-1], None]):
        column = pa.array(rows, type_)
        of = batch(n=column, s=pc.if_else(column.is_valid(), texts, pa.scalar(None, pa.string())))
        for name in ("interpreted", "primitives"):
            with tier(name):
                for prefix in ("10.0.0.0/8", "0.0.0.0/30", "0.0.0.7/32", "0.0.0.0/0", "::/0"):
                    assert values(col.n.ip.in_prefix(prefix), of) == values(col.s.ip.in_prefix(prefix), of), prefix
                assert values(col.n.ip.is_private(), of) == values(col.s.ip.is_private(), of)
                for bits in (0, 8, 30, 32):
                    assert values(col.n.ip.network(bits).ip.to_text(), of) == values(col.s.ip.network(bits), of), bits


def longest(address, nets: dict):
    """The value of the longest network that has the address."""
    inside = [net for net in nets if address in net]
    return nets[max(inside, key=lambda net: net.prefixlen)] if inside else None


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(each, marks=pytest.mark.long) for each in range(2, 15))])
def test_the_longest_prefix_of_an_address(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = addresses(seed, 50)
    nets = {}
    for each in (*found[::2], ipaddress.ip_address("0.0.0.0"), ipaddress.ip_address("::"),
                 ipaddress.ip_address("255.255.255.255"), ipaddress.ip_address("ff" * 2 + ":ffff" * 7)):
        for bits in rng.choice(each.max_prefixlen + 1, 3):
            nets[ipaddress.ip_network((each, int(bits)), strict=False)] = len(nets)
    edges = [edge for net in nets for edge in (net[0], net[-1])]
    found += [edge + int(step) for edge in edges for step in (-1, 0, 1)
              if 0 <= int(edge) + step < 2**edge.max_prefixlen]
    table = pa.table({"prefix": [str(net) for net in nets], "id": pa.array(nets.values(), pa.int16())})
    prefixes = wb.prefix_table(table, value="id")
    wanted = [longest(each, nets) for each in found]
    assert values(col.s.ip.lookup(prefixes), batch(s=[*map(str, found), "x", None])) == [*wanted, None, None]
    for version in (4, 6):
        ours = [(each, want) for each, want in zip(found, wanted, strict=True) if each.version == version]
        column = (pa.array([int(each) for each, _ in ours]) if version == 4 else
                  pa.array([each.packed for each, _ in ours], pa.binary(16)))
        assert values(col.x.ip.lookup(prefixes), batch(x=column)) == [want for _, want in ours]


def test_tables_of_prefixes() -> None:
    names = {"10.0.0.0/8": "a", "10.1.2.3": "b"}
    of = batch(s=["10.1.2.3", "10.1.2.4", "11.0.0.0", "::"])
    assert values(col.s.ip.lookup(wb.prefix_table(names)), of) == ["b", "a", None, None]
    assert values(col.s.ip.lookup(wb.prefix_table(list(names))), of) == ["10.1.2.3", "10.0.0.0/8", None, None]
    frame = pa.table({"net": list(names), "owner": pa.array(names.values()).dictionary_encode()}).to_pandas()
    assert values(col.s.ip.lookup(wb.prefix_table(frame, prefix="net", value="owner")), of) == ["b", "a", None, None]
    assert values(col.s.ip.lookup(wb.prefix_table({})), of) == [None] * 4
    shown = {repr(col.s.ip.lookup(wb.prefix_table(each))) for each in (names, {**names, "::/0": "c"}, dict(names))}
    assert len(shown) == 2
    assert all("prefixes" in each for each in shown)


@pytest.mark.parametrize(("build", "message"), (
    (col.f.ip.to_text, "ip.to_text takes an address, not double"),
    (lambda: col.s.ip.in_prefix("10.0.0.1/8"), "'10.0.0.1/8' is not a prefix: 10.0.0.1/8 has host bits set"),
    (lambda: col.s.ip.in_prefix(8), "needs one string"), (lambda: col.s.ip.network(129), "from 0 to 128, got 129"),
    (lambda: col.n.ip.network(33), "from 0 to 32, got 33"), (lambda: col.s.ip.network("a"), "needs a whole number"),
    (lambda: col.s.ip.lookup({}), "needs a table of prefixes, got dict"),
    (lambda: wb.prefix_table({"10.0.0.0/33": 1}), "'10.0.0.0/33' is not a prefix"),
    (lambda: wb.prefix_table({"10.0.0.1/8": 1}), "'10.0.0.1/8' has bits after its length"),
    (lambda: wb.prefix_table({"::/0": 1, "0::/0": 2}), "The prefix '(0)?::/0' appears twice"),
    (lambda: wb.prefix_table(7), "must be a mapping"),
    (lambda: wb.prefix_table([("10.0.0.0/8", 1)]), "All prefixes must be texts"),
    (lambda: wb.prefix_table(pa.table({"net": ["::/0"]})), "The table has no column 'prefix'"),
    (lambda: wb.prefix_table(pa.table({"prefix": [1]})), "Prefixes must be texts, got int64"),
))
def test_what_does_not_fit_is_refused_before_any_row(build, message) -> None:
    with pytest.raises(ExpressionError, match=message):
        values(build(), batch(s=["a"], n=[1], f=[0.5]))


def test_addresses_in_queries_and_in_sql() -> None:
    ips = ["10.0.0.1", "10.0.9.1", "2001:db8::1", None]
    log = wb.from_arrow({"at": [0, 1, 2, 3], "ip": ips}, time="at", name="log")
    counts = log.group_by(net=col.ip.ip.network(16)).tumbling_window(10).aggregate(n=wb.count()).collect()
    assert dict(zip(counts["net"].to_pylist(), counts["n"].to_pylist(), strict=True)) == {
        "10.0.0.0": 2, "2001::": 1, None: 1}
    by_bytes = log.group_by(a=col.ip.ip.to_ipv6()).tumbling_window(10).aggregate(n=wb.count()).collect()
    assert sorted(by_bytes["n"].to_pylist()) == [1, 3]
    text = ("SELECT ip_to_text(to_ipv4(ip)) AS t, ip_version(ip) AS v, ip_network(ip, 8) AS n, is_private_ip(ip) AS p "
            "FROM log WHERE in_prefix(ip, '10.0.0.0/16') OR ip = IPV6_VAL'2001:DB8:0::1'")
    query = wb.sql(text, log=log)
    rows = query.collect()
    assert [rows[name].to_pylist() for name in "tvnp"] == [
        ["10.0.0.1", "10.0.9.1", None], [4, 4, 6], ["10.0.0.0", "10.0.0.0", "2000::"], [True, True, False]]
    assert wb.sql(query.sql(), log=log).explain() == query.explain()
    for wrong in ("in_prefix(ip, 'x')", "in_prefix(ip)", "ip_network(ip, 129)", "ip_version(at)"):
        with pytest.raises(WhimbrelError):
            wb.sql(f"SELECT {wrong} AS y FROM log", log=log.select(ip=col.ip, at=col.ip.str.length() / 2))


@pytest.mark.long
def test_a_million_rows_in_a_hundred_thousand_prefixes() -> None:
    rng = np.random.default_rng(1)
    bits = rng.integers(16, 25, 100_000)
    first = rng.integers(0, 2**32, 100_000) >> (32 - bits) << (32 - bits)
    nets = {f"{ipaddress.IPv4Address(int(n))}/{b}": each
            for each, (n, b) in enumerate(zip(first, bits, strict=True))}
    prefixes = wb.prefix_table(nets)
    of = batch(n=rng.integers(0, 2**32, 1_000_000))
    found = values(col.n.ip.lookup(prefixes), of)
    began = time.process_time()
    wb.expr.evaluate(col.n.ip.lookup(prefixes), of)
    assert time.process_time() - began < 5
    by_size: dict = {}
    for net, each in nets.items():
        network = ipaddress.ip_network(net)
        by_size[network.prefixlen, int(network[0])] = each
    for n, each in zip(of.columns[0].values[:20_000].tolist(), found, strict=False):
        inside = [by_size[size, n >> (32 - size) << (32 - size)] for size in range(24, 15, -1)
                  if (size, n >> (32 - size) << (32 - size)) in by_size]
        assert each == (inside[0] if inside else None)

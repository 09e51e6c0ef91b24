"""Create streams from captures of network packets."""

from __future__ import annotations

from collections.abc import Iterable

from whimbrel.clock import Duration
from whimbrel.connect.files.paths import FilePath
from whimbrel.connect.packets.flow_files import FlowFiles
from whimbrel.connect.packets.packet_files import PacketFiles
from whimbrel.plan import Node
from whimbrel.stream.stream import Stream


def read_pcap(path: FilePath | Iterable[FilePath], *, reorder_latency: Duration | None = None, late: str | None = None,
              name: str | None = None) -> Stream:
    r"""Create a stream from captures of network packets.

    Files are pcap or pcapng, as tcpdump and Wireshark write them. Each packet is a row, a point at the time of its
    capture. Columns are decoded only if a query reads them. The page on packets lists them: Ethernet, VLAN, IPv4, IPv6,
    TCP, UDP, ICMP and DNS.

    Parameters
    ----------
    path : str, path, or several
        As in :func:`whimbrel.read_parquet`. Names may also end with ``.gz``, ``.zst``, ``.bz2``, ``.lz4`` or ``.br``.
    reorder_latency : str, timedelta or int, optional
        How far out of order a packet may be. Default: 0. Captures of several interfaces need more.
    late : {"raise", "drop", "adjust", "side_output"}, optional
        What happens to packets that are further out of order. Default: "raise".
    name : str, optional
        Name of the stream.

    Notes
    -----
    Packets that are truncated, fragments or malformed are rows. The column ``problem`` names what is wrong, and columns
    that the packet has not are null. A damaged or cut end of a file is left out, also of a compressed one.
    Python's log says how many there were.

    Examples
    --------
    >>> import pathlib, struct, tempfile
    >>> import whimbrel as wb
    >>> frame = bytes.fromhex("001b210a0b0c001b210a0b0d0800" "4500001c00010000401100000a0000010a000002"
    ...                       "303900350008" "0000")
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "dns.pcap"
    >>> head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    >>> _ = file.write_bytes(head + struct.pack("<4I", 1_700_000_000, 5, len(frame), len(frame)) + frame)
    >>> packets = wb.read_pcap(file)
    >>> packets.select("src_ip", "dst_ip", "protocol", "dst_port").collect().drop(["start", "end"]).to_pylist()
    [{'src_ip': '10.0.0.1', 'dst_ip': '10.0.0.2', 'protocol': 17, 'dst_port': 53}]
    """
    return Stream(Node(PacketFiles(path, reorder_latency=reorder_latency, late=late, name=name)))


def read_netflow(path: FilePath | Iterable[FilePath], *, port: int | None = None,
                 reorder_latency: Duration | None = None, late: str | None = None, name: str | None = None) -> Stream:
    r"""Create a stream from flows of NetFlow or IPFIX in captures.

    Captures have the datagrams that exporters sent over UDP: NetFlow v5, NetFlow v9 or IPFIX. Each flow is a row, at
    the time of its last packet. Columns are those of ``wb.feeds.netflow``.

    Parameters
    ----------
    path : str, path, or several
        As in :func:`read_pcap`.
    port : int, optional
        The port that datagrams were sent to, such as 2055. Default: any. Use it for captures with other datagrams.
    reorder_latency : str, timedelta or int, optional
        How far out of order a flow may be: the longest timeout of the exporter. Default: the flows are read whole, and
        sorted.
    late : {"raise", "drop", "adjust", "side_output"}, optional
        What happens to flows that are further out of order. Default: "raise".
    name : str, optional
        Name of the stream.

    Notes
    -----
    Python's log says how many datagrams were truncated, fragments, malformed or no flows, and how many flows did not
    arrive by the sequence numbers.

    Examples
    --------
    >>> import pathlib, struct, tempfile
    >>> import whimbrel as wb
    >>> head = struct.pack(">2H4I2BH", 5, 1, 10_000, 1_700_000_000, 0, 0, 0, 0, 0)
    >>> flow = struct.pack(">3I2H4I2H4B2H2BH", 0x0A000001, 0x0A000002, 0, 1, 2, 3, 400, 1_000, 9_000, 50_000, 443,
    ...                    0, 16, 6, 0, 0, 0, 0, 0, 0)
    >>> udp = struct.pack(">4H", 9_000, 2_055, 80, 0) + head + flow
    >>> ip = b"E\0" + struct.pack(">3H2BH2I", 20 + len(udp), 1, 0, 64, 17, 0, 0x0A000009, 0x0A00000A)
    >>> frame = bytes(12) + b"\x08\0" + ip + udp
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "flows.pcap"
    >>> _ = file.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    ...                      + struct.pack("<4I", 1_700_000_000, 5, len(frame), len(frame)) + frame)
    >>> flows = wb.read_netflow(file, port=2055)
    >>> flows.select("exporter", "src_ip", "dst_port", "bytes").collect().drop(["start", "end"]).to_pylist()
    [{'exporter': '10.0.0.9', 'src_ip': '10.0.0.1', 'dst_port': 443, 'bytes': 400}]
    """
    return Stream(Node(FlowFiles(path, port=port, reorder_latency=reorder_latency, late=late, name=name)))

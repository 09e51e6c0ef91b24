"""Create streams from captures of network packets."""

from __future__ import annotations

from collections.abc import Iterable

from whimbrel.clock import Duration
from whimbrel.connect.files.paths import FilePath
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

"""Layers of packets, found once for all columns."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

import numpy as np

from whimbrel.batch import Mask
from whimbrel.connect.packets.capture import PacketBytes
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.packets.packet_fields import read_field
from whimbrel.kernels.primitives.packets.packet_layers import (
    ETHERNET,
    ICMP,
    ICMPV6,
    LINUX,
    LINUX_2,
    LOOPBACKS,
    NO_LINKS,
    SCTP,
    TCP,
    UDP,
    find_layers,
)

Array = np.ndarray[Any, Any]

PROBLEMS = ("", "truncated", "fragment", "malformed")
"""Problems of packets by number."""
_LINKS = frozenset((ETHERNET, LINUX, LINUX_2, *LOOPBACKS, *NO_LINKS))
_DNS_PORTS = (53, 5353)
_NONE = np.int32(-1)

_layers, _field = Compiled(find_layers), Compiled(read_field)


class Packets:
    """Packets and their layers.

    Parameters
    ----------
    found : PacketBytes

    Attributes
    ----------
    ether_types, vlans, versions, protocols : numpy.ndarray of int32
        -1 where there is none; version 0.
    networks, transports, payloads : numpy.ndarray of int32
        First bytes of the layers, -1 where there is none.
    payload_sizes : numpy.ndarray of int32
    ends : numpy.ndarray of int32
    problems : numpy.ndarray of int32
        Places in :data:`PROBLEMS`.
    """

    def __init__(self, found: PacketBytes) -> None:
        self.found = found
        (self.ether_types, self.vlans, self.versions, self.protocols, self.networks, self.transports, self.payloads,
         self.payload_sizes, self.ends, self.problems) = results = np.empty((10, len(found)), np.int32)
        _layers(found.data, found.starts, found.captured, found.links, *results)

    def __len__(self) -> int:
        return len(self.found)

    def count_problems(self, counts: Counter[str]) -> None:
        """Count the packets with a problem."""
        number = np.bincount(self.problems, minlength=len(PROBLEMS))
        counts.update({PROBLEMS[each]: int(number[each]) for each in np.flatnonzero(number) if each})

    def count_other_links(self, counts: Counter[str]) -> None:
        """Count the packets whose link type is not decoded: they have no layers."""
        links = self.found.links
        is_one = len(links) > 0 and bool((links == links[0]).all())
        found = {int(links[0]): len(links)} if is_one else Counter(links.tolist())
        counts.update({f"packets of link type {link}, which is not decoded": number
                       for link, number in found.items() if link not in _LINKS})

    def of_protocols(self, *protocols: int) -> Array:
        """Where the transport layer begins in packets of these protocols; -1 elsewhere."""
        wanted = self.protocols == protocols[0]
        for each in protocols[1:]:
            wanted |= self.protocols == each
        return np.where(wanted, self.transports, _NONE)

    @cached_property
    def ethernet(self) -> Array:
        """Where frames of Ethernet begin."""
        return np.where(self.found.links == 1, self.found.starts, _NONE)

    @cached_property
    def captured_ends(self) -> Array:
        """After the last captured byte of each packet."""
        return self.found.starts + self.found.captured

    @cached_property
    def ipv4(self) -> Array:
        """Where headers of IPv4 begin."""
        return np.where(self.versions == 4, self.networks, _NONE)

    @cached_property
    def ipv6(self) -> Array:
        """Where headers of IPv6 begin."""
        return np.where(self.versions == 6, self.networks, _NONE)

    @cached_property
    def ports(self) -> Array:
        """Where layers with ports begin."""
        return self.of_protocols(TCP, UDP, SCTP)

    @cached_property
    def tcp(self) -> Array:
        """Where headers of TCP begin."""
        return self.of_protocols(TCP)

    @cached_property
    def udp(self) -> Array:
        """Where headers of UDP begin."""
        return self.of_protocols(UDP)

    @cached_property
    def icmp(self) -> Array:
        """Where headers of ICMP and ICMPv6 begin."""
        return self.of_protocols(ICMP, ICMPV6)

    @cached_property
    def dns(self) -> Array:
        """Where messages of DNS begin: payloads of UDP at the ports 53 and 5353, and of TCP after their length."""
        sender, _ = self.field(self.ports, 0, 2)
        receiver, _ = self.field(self.ports, 2, 2)
        asked = np.isin(sender, _DNS_PORTS) | np.isin(receiver, _DNS_PORTS)
        begin = self.payloads + 2 * (self.protocols == TCP).astype(np.int32)
        has_data = (self.payloads >= 0) & (begin < self.ends) & np.isin(self.protocols, (TCP, UDP))
        return np.where(asked & has_data, begin, _NONE)

    def field(self, layers: Array, offset: int, width: int, shift: int = 0, mask: int = -1, *,
              into: tuple[Array, Mask] | None = None, ends: Array | None = None) -> tuple[Array, Mask]:
        """Integers of so many bytes, so many bytes after a layer begins, and where they are."""
        values, valid = into or (np.zeros(len(self), np.int64), np.zeros(len(self), np.bool_))
        _field(self.found.data, layers, self.ends if ends is None else ends, offset, width, shift, mask, values, valid)
        return values, valid

"""Find where the layers of packets begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.packets.byte_order import big16

Array = np.ndarray[Any, Any]

TRUNCATED, FRAGMENT, MALFORMED = 1, 2, 3
"""Problems of packets; 0 is none."""
IPV4, IPV6 = 0x0800, 0x86DD
ICMP, TCP, UDP, ICMPV6, SCTP = 1, 6, 17, 58, 132
ETHERNET, LINUX, LINUX_2 = 1, 113, 276
"""Link types, as of captures."""
LOOPBACKS, NO_LINKS = (0, 108), (12, 14, 101, 228, 229)
"""Link types with four bytes before the network layer, and with none."""


def find_layers(data: Array, starts: Array, captured: Array, links: Array, ether_types: Array, vlans: Array,
                versions: Array, protocols: Array, networks: Array, transports: Array, payloads: Array,
                payload_sizes: Array, ends: Array, problems: Array) -> None:
    """Write for each packet where its layers begin; -1 where there is none.

    Parameters
    ----------
    starts, captured, links : arrays
        Of each packet: its first byte, its captured bytes, and its link type.
    payload_sizes : array
        Bytes of the payload by the headers, which may be more than were captured.
    ends : array
        After the last captured byte of the network layer, or of the packet.
    problems : array
        TRUNCATED, FRAGMENT, MALFORMED or 0.
    """
    for row in range(starts.shape[0]):
        at, stop, link = int(starts[row]), int(starts[row]) + int(captured[row]), int(links[row])
        kind, vlan, problem, guess = -1, -1, 0, False
        if link in (ETHERNET, LINUX, LINUX_2):
            header = 14 if link == ETHERNET else 16 if link == LINUX else 20
            if at + header > stop:
                problem = TRUNCATED
            else:
                kind = big16(data, at if link == LINUX_2 else at + header - 2)
                at += header
        elif link in LOOPBACKS:
            at += 4
            guess = True
        elif link in NO_LINKS:
            guess = True
        while kind in (0x8100, 0x88A8, 0x9100):
            if at + 4 > stop:
                kind, problem = -1, TRUNCATED
                break
            if vlan < 0:
                vlan = big16(data, at) & 0xFFF
            kind = big16(data, at + 2)
            at += 4
        ether_type = kind
        if kind in (0x8847, 0x8848):  # labels until the bottom of their stack
            guess = True
            while at + 4 <= stop and int(data[at + 2]) & 1 == 0:
                at += 4
            at += 4
        elif kind == 0x8864:  # PPP over Ethernet
            guess = at + 8 <= stop and (big16(data, at + 6) == 0x21 or big16(data, at + 6) == 0x57)
            at += 8
        elif 0 <= kind < 1536:  # a length
            ether_type = -1
            if at + 8 <= stop and int(data[at]) == 0xAA and int(data[at + 1]) == 0xAA:
                ether_type = kind = big16(data, at + 6)
                at += 8
        if guess:
            if at >= stop:
                problem = TRUNCATED
            else:
                kind = IPV4 if int(data[at]) >> 4 == 4 else IPV6 if int(data[at]) >> 4 == 6 else -1
            if ether_type < 0:
                ether_type = kind
        version, protocol, network, transport, payload, payload_size = 0, -1, -1, -1, -1, 0
        declared = stop
        if kind == IPV4:
            if at + 20 > stop:
                problem = TRUNCATED
            elif int(data[at]) >> 4 != 4 or int(data[at]) & 15 < 5:
                problem = MALFORMED
            else:
                version, network, protocol = 4, at, int(data[at + 9])
                header, total, piece = (int(data[at]) & 15) * 4, big16(data, at + 2), big16(data, at + 6)
                if total >= header:
                    declared = at + total
                elif total != 0:  # 0: a packet that the network card cuts later
                    problem = MALFORMED
                if piece & 0x3FFF:
                    problem = FRAGMENT
                if piece & 0x1FFF == 0 and problem != MALFORMED:
                    transport = at + header
        elif kind == IPV6:
            if at + 40 > stop:
                problem = TRUNCATED
            elif int(data[at]) >> 4 != 6:
                problem = MALFORMED
            else:
                version, network, protocol = 6, at, int(data[at + 6])
                if big16(data, at + 4) != 0:  # 0: the length is in an option
                    declared = at + 40 + big16(data, at + 4)
                transport = at + 40
                limit = min(stop, declared)
                while protocol in (0, 43, 44, 51, 60):
                    if transport + 8 > limit:
                        transport, protocol, problem = -1, -1, TRUNCATED
                        break
                    if protocol == 44:
                        problem = FRAGMENT
                        size, first = 8, big16(data, transport + 2) >> 3 == 0
                    elif protocol == 51:
                        size, first = (int(data[transport + 1]) + 2) * 4, True
                    else:
                        size, first = (int(data[transport + 1]) + 1) * 8, True
                    protocol = int(data[transport])
                    transport += size
                    if not first:
                        transport = -1
                        break
                if protocol == 59:  # nothing follows
                    transport = -1
        end = min(stop, declared)
        if declared > stop and problem == 0:
            problem = TRUNCATED
        if transport > declared:
            transport, problem = -1, MALFORMED
        if transport >= 0:
            header = 20 if protocol == TCP else 12 if protocol == SCTP else 4 if protocol == ICMPV6 else 0
            if protocol in (UDP, ICMP):
                header = 8
            if transport + header > end:
                if problem == 0:
                    problem = TRUNCATED if transport + header <= declared else MALFORMED
            else:
                if protocol == TCP:
                    header = (int(data[transport + 12]) >> 4) * 4
                if (header < 20 and protocol == TCP) or transport + header > declared:
                    problem = MALFORMED
                else:
                    payload, payload_size = transport + header, declared - transport - header
            if transport >= end:
                transport = -1
        ether_types[row], vlans[row], versions[row], protocols[row] = ether_type, vlan, version, protocol
        networks[row], transports[row], payloads[row], payload_sizes[row] = network, transport, payload, payload_size
        ends[row], problems[row] = end, problem

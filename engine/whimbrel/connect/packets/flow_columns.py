"""Columns of flows, from the values of their records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column
from whimbrel.connect.packets.address_text import AddressText, shown_ip
from whimbrel.connect.packets.flow_templates import SLOTS

Array = np.ndarray[Any, Any]

_TIME: Final = pa.timestamp("ns", "UTC")
_INT, _LONG, _TEXT = pa.int32(), pa.int64(), pa.string()
FLOW_COLUMNS: Final = {
    "time": _TIME, "flow_start": _TIME, "export_time": _TIME, "exporter": _TEXT, "version": _INT, "source_id": _LONG,
    "ip_version": _INT, "src_ip": _TEXT, "dst_ip": _TEXT, "next_hop": _TEXT, "src_ipv4": _LONG, "dst_ipv4": _LONG,
    "protocol": _INT, "src_port": _INT, "dst_port": _INT, "bytes": _LONG, "packets": _LONG, "tcp_flags": _INT,
    "tos": _INT, "input_interface": _LONG, "output_interface": _LONG, "src_as": _LONG, "dst_as": _LONG,
    "src_prefix_length": _INT, "dst_prefix_length": _INT, "vlan": _INT, "direction": _INT, "end_reason": _INT,
    "sampling": _LONG}
"""Columns of flows and their types."""

_S, _MS, _US = 10**9, 10**6, 10**3
_NTP: Final = 2_208_988_800
"""Seconds from 1900 to 1970."""
_LATEST: Final = 9_000_000_000


@dataclass(frozen=True)
class FlowRecords:
    """Records of one set.

    Attributes
    ----------
    numbers, valid : numpy.ndarray
        Values by the places of :data:`~whimbrel.connect.packets.flow_templates.SLOTS`, and where there are any.
    exporter : str
        Address of the sender.
    version, source_id, export_ns, uptime_ms, sampling : int
        Of the header. An uptime of -1 is unknown, and a sampling of 0.
    """

    numbers: Array
    valid: Array
    exporter: str
    version: int
    source_id: int
    export_ns: int
    uptime_ms: int
    sampling: int


class FlowColumns:
    """Makes rows of records; addresses are converted to text once."""

    def __init__(self) -> None:
        self._addresses = AddressText(3, shown_ip)

    def rows(self, found: list[FlowRecords]) -> pa.RecordBatch:
        """All columns of these records."""
        numbers = np.concatenate([each.numbers for each in found])
        valid = np.concatenate([each.valid for each in found])
        counts = [len(each.numbers) for each in found]

        def of_header(values: list[int]) -> Array:
            return np.repeat(np.array(values, np.int64), counts)

        def field(name: str, half: int = 0) -> tuple[Array, Array]:
            return numbers[:, SLOTS[name] + half], valid[:, SLOTS[name] + half]

        exported = of_header([each.export_ns for each in found])
        uptimes = of_header([each.uptime_ms for each in found])
        start, has_start = _time("start", field, exported, uptimes)
        end, has_end = _time("end", field, exported, uptimes)
        made: dict[str, tuple[Array, Array | None]] = {
            "time": (np.where(has_end, end, exported), None), "flow_start": (start, has_start),
            "export_time": (exported, None), "version": (of_header([each.version for each in found]), None),
            "source_id": (of_header([each.source_id for each in found]), None),
            "src_ipv4": field("src_ipv4"), "dst_ipv4": field("dst_ipv4")}
        four, six = field("src_ipv4")[1] | field("dst_ipv4")[1], field("src_ipv6", 1)[1] | field("dst_ipv6", 1)[1]
        made["ip_version"] = np.where(six, 6, 4), four | six
        sampling, has_sampling = field("sampling")
        given = of_header([each.sampling for each in found])
        made["sampling"] = np.where(has_sampling, sampling, given), has_sampling | (given > 0)
        exporters = pa.array([each.exporter for each in found], _TEXT).dictionary_encode()
        places = pa.array(np.repeat(np.arange(len(found)), counts))
        columns: dict[str, pa.Array] = {"exporter": exporters.take(places).cast(_TEXT)}
        for name, stem in (("src_ip", "src_ip"), ("dst_ip", "dst_ip"), ("next_hop", "next_hop_ip")):
            columns[name] = self._address(field(f"{stem}v4"), field(f"{stem}v6"), field(f"{stem}v6", 1))
        for name, type_ in FLOW_COLUMNS.items():
            if name not in columns:
                values, there = made.get(name) or field(name)
                most = 2**31 - 1 if type_ == _INT else 2**63 - 1
                fits = (values >= 0) & (values <= most) & (True if there is None else there)
                plain = np.where(fits, values, 0).astype(np.int32 if type_ == _INT else np.int64)
                columns[name] = Column(type_, plain, None if fits.all() else fits).to_arrow()
        return pa.RecordBatch.from_arrays([columns[name] for name in FLOW_COLUMNS], list(FLOW_COLUMNS))

    def _address(self, four: tuple[Array, Array], high: tuple[Array, Array], low: tuple[Array, Array]) -> pa.Array:
        is_six = low[1]
        parts = (np.where(is_six, 6, 4), np.where(is_six, high[0], 0),
                 np.where(is_six, low[0], np.where(four[1], four[0] & 0xFFFFFFFF, 0)))
        return self._addresses.column(parts, is_six | four[1]).to_arrow().cast(_TEXT)


def _time(which: str, field: Any, exported: Array, uptimes: Array) -> tuple[Array, Array]:
    """Nanoseconds of the start or the end of flows, from whichever element they have, and where there is one."""
    found, there = np.zeros(len(exported), np.int64), np.zeros(len(exported), np.bool_)

    def take(values: Array, fits: Array) -> None:
        new = fits & ~there & (values >= 0)
        found[new] = values[new]
        there[new] = True

    ntp, has_ntp = field(f"{which}_ntp")
    seconds = ((ntp >> 32) & 0xFFFFFFFF) - _NTP
    take(seconds * _S + ((ntp & 0xFFFFFFFF) * _S >> 32), has_ntp)
    for unit, ticks in (("ms", _MS), ("s", _S)):
        values, has_values = field(f"{which}_{unit}")
        fits = has_values & (values >= 0) & (values <= _LATEST * (_S // ticks))
        take(np.where(fits, values, 0) * ticks, fits)
    before, has_before = field(f"{which}_before_us")
    fits = has_before & (before >= 0) & (before < 2**32)
    take(exported - np.where(fits, before, 0) * _US, fits)
    uptime, has_uptime = field(f"{which}_uptime")
    boot, has_boot = field("boot_ms")
    fits = has_uptime & has_boot & (boot >= 0) & (boot <= _LATEST * 1000)
    take((np.where(fits, boot, 0) + uptime) * _MS, fits)
    ago = (uptimes - uptime) & 0xFFFFFFFF  # it wraps around after 49 days
    take(exported - np.where(ago >= 2**31, ago - 2**32, ago) * _MS, has_uptime & (uptimes >= 0))
    return found, there

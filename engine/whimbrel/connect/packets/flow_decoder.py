"""Decoder of datagrams of NetFlow v5 and v9 and of IPFIX."""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict, deque
from typing import Any, Final, NamedTuple

import numpy as np

from whimbrel.connect.packets.flow_columns import FlowRecords
from whimbrel.connect.packets.flow_templates import (
    SLOTS,
    V5_TEMPLATE,
    FlowTemplate,
    MalformedError,
    read_templates,
)

Array = np.ndarray[Any, Any]
Source = tuple[str, int, int]
"""Address of an exporter, version, and its source or observation domain."""

MAX_TEMPLATES: Final = 10_000
MAX_SOURCES: Final = 10_000
MAX_WAITING_BYTES: Final = 4 << 20
SET_BYTES: Final = 256
"""Memory that a set takes in addition to its bytes."""
LOST_FLOWS: Final = "flows did not arrive"
LOST_DATAGRAMS: Final = "datagrams of NetFlow v9 did not arrive"
UNKNOWN: Final = "sets without a template were dropped"
_REORDERED: Final = 10_000
_TEMPLATE_SETS: Final = {9: (0, 1), 10: (2, 3)}
"""Numbers of the sets of templates and of options templates."""


class _WaitingSet(NamedTuple):
    """A set that arrived before its template."""

    number: int
    body: bytes
    export_ns: int
    uptime: int


class FlowDecoder:
    """Decodes the datagrams of any number of exporters.

    Templates belong to the address, the version and the source id of an exporter. Sets that arrive before their
    template wait for it, up to :data:`MAX_WAITING_BYTES`; then the oldest ones are dropped and counted. The last
    sequence number and sampling rate are kept for :data:`MAX_SOURCES` sources, and forgotten for the oldest ones.

    Parameters
    ----------
    templates : sequence, optional
        From `saved` of a decoder before.

    Attributes
    ----------
    lost : Counter of str
        Flows and datagrams that sequence numbers miss, and dropped sets.
    counts : Counter of str
        Datagrams, templates, options templates, and sets that had to wait.
    """

    def __init__(self, templates: list[Any] | None = None) -> None:
        self.lost: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self._templates: dict[tuple[Source, int], FlowTemplate] = {}
        self._sampling: OrderedDict[Source, int] = OrderedDict()
        self._expected: OrderedDict[Source, int] = OrderedDict()
        self._waiting: OrderedDict[int, tuple[Source, _WaitingSet]] = OrderedDict()
        self._waiting_for: dict[tuple[Source, int], deque[int]] = {}
        self._waited = self._waiting_bytes = 0
        for exporter, version, domain, number, is_options, fields in templates or []:
            template = FlowTemplate(tuple((element, size) for element, size in fields), is_options)
            self._templates[(exporter, version, domain), number] = template
        self._saved: list[Any] | None = None
        self._found: list[FlowRecords] = []

    @property
    def saved(self) -> list[Any]:
        """All templates, as JSON."""
        if self._saved is None:
            self._saved = [[*source, number, template.is_options, [list(field) for field in template.fields]]
                           for (source, number), template in self._templates.items()]
        return self._saved

    def take(self) -> list[FlowRecords]:
        """The flows that were decoded since the last call."""
        found, self._found = self._found, []
        return found

    def drop_waiting(self) -> None:
        """Count the sets that still wait as lost: no template will come."""
        self.lost[UNKNOWN] += len(self._waiting)
        self._waiting.clear()
        self._waiting_for.clear()
        self._waiting_bytes = 0

    def decode(self, datagram: bytes, exporter: str) -> None:
        """Decode the flows of a datagram, and of sets that waited for its templates.

        Raises
        ------
        MalformedError
            If it contradicts itself. Flows before the damage are decoded.
        """
        if len(datagram) < 2:
            raise MalformedError("a datagram without a version")
        version = int.from_bytes(datagram[:2], "big")
        self.counts["datagrams"] += 1
        if version == 5:
            self._v5(datagram, exporter)
            return
        if version not in _TEMPLATE_SETS:
            raise MalformedError("a datagram that is neither NetFlow v5 or v9 nor IPFIX")
        if len(datagram) < (20 if version == 9 else 16):
            raise MalformedError("a header that is cut off")
        if version == 9:
            uptime, seconds, sequence, domain = struct.unpack_from(">4I", datagram, 4)
            begin, stop = 20, len(datagram)
        else:
            stop, seconds, sequence, domain = struct.unpack_from(">H3I", datagram, 2)
            begin, uptime = 16, -1
            if not 16 <= stop <= len(datagram):
                raise MalformedError("a message of another length than its header says")
        source = (exporter, version, domain)
        try:
            records = self._sets(source, datagram, begin, stop, seconds * 10**9, uptime)
        except MalformedError:
            self._check_sequence(source, sequence, None)  # nobody knows how many records there were
            raise
        self._check_sequence(source, sequence, 1 if version == 9 else records)

    def _v5(self, datagram: bytes, exporter: str) -> None:
        if len(datagram) < 24:
            raise MalformedError("a header that is cut off")
        count, uptime, seconds, nanos, sequence, engine, sampling = struct.unpack_from(">H4I2H", datagram, 2)
        if len(datagram) != 24 + 48 * count or nanos >= 10**9:
            raise MalformedError("a datagram of another length than its header says")
        source = (exporter, 5, engine)
        self._check_sequence(source, sequence, count)
        data = np.frombuffer(datagram, np.uint8)
        numbers, valid = V5_TEMPLATE.read(data, 24, len(datagram))
        self._found.append(FlowRecords(numbers, valid, exporter, 5, engine, seconds * 10**9 + nanos, uptime,
                                       sampling & 0x3FFF))

    def _sets(self, source: Source, datagram: bytes, at: int, stop: int, export_ns: int,
              uptime: int) -> int | None:
        """Decode the sets of a datagram; how many records there were, or None if a template is missing."""
        data = np.frombuffer(datagram, np.uint8)
        records: int | None = 0
        while at + 4 <= stop:
            number, size = struct.unpack_from(">2H", datagram, at)
            if size < 4 or at + size > stop:
                raise MalformedError("a set with an impossible length")
            end = at + size
            if number in _TEMPLATE_SETS[source[1]]:
                self._learn(source, number, datagram[at + 4:end])
            elif number < 256:
                raise MalformedError("a set with an impossible number")
            elif (template := self._templates.get((source, number))) is None:
                if size > 4:
                    self._wait(source, _WaitingSet(number, datagram[at + 4:end], export_ns, uptime))
                    records = None
            else:
                count = self._records(source, template, data, at + 4, end, export_ns, uptime)
                records = None if records is None else records + count
            at = end
        return records

    def _records(self, source: Source, template: FlowTemplate, data: Array, begin: int, stop: int, export_ns: int,
                 uptime: int) -> int:
        """Decode the records of a set; how many there are."""
        numbers, valid = template.read(data, begin, stop)
        if template.is_options and len(numbers):
            self._note_sampling(source, numbers[-1], valid[-1])
        elif len(numbers):
            self._found.append(FlowRecords(numbers, valid, *source, export_ns, uptime, self._sampling.get(source, 0)))
        return len(numbers)

    def _note_sampling(self, source: Source, numbers: Array, valid: Array) -> None:
        sampled, skipped, rate = (SLOTS[name] for name in ("sampled_packets", "skipped_packets", "sampling"))
        if valid[rate] and numbers[rate] > 0:
            _note(self._sampling, source, int(numbers[rate]))
        elif valid[sampled] and numbers[sampled] > 0:
            skips = max(0, int(numbers[skipped])) if valid[skipped] else 0
            _note(self._sampling, source, (int(numbers[sampled]) + skips) // int(numbers[sampled]))

    def _learn(self, source: Source, number: int, body: bytes) -> None:
        is_options = number == _TEMPLATE_SETS[source[1]][1]
        for template_number, template in read_templates(body, source[1], is_options):
            key = (source, template_number)
            if template is None:
                for each in [key] if template_number >= 256 else [
                        known for known, held in self._templates.items()
                        if known[0] == source and held.is_options == is_options]:
                    self._templates.pop(each, None)
                self._saved = None
                continue
            self.counts["options templates" if is_options else "templates"] += 1
            if self._templates.get(key) == template:
                continue
            if key not in self._templates and len(self._templates) >= MAX_TEMPLATES:
                raise MalformedError(f"a template after {MAX_TEMPLATES:,} others")
            self._templates[key] = template
            self._saved = None
            self._decode_waiting(key)

    def _wait(self, source: Source, waiting: _WaitingSet) -> None:
        self.counts["sets that waited"] += 1
        self._waited += 1
        self._waiting[self._waited] = source, waiting
        self._waiting_for.setdefault((source, waiting.number), deque()).append(self._waited)
        self._waiting_bytes += len(waiting.body) + SET_BYTES
        while self._waiting_bytes > MAX_WAITING_BYTES:
            _, (source, oldest) = self._waiting.popitem(last=False)
            same = self._waiting_for[source, oldest.number]
            same.popleft()
            if not same:
                del self._waiting_for[source, oldest.number]
            self._waiting_bytes -= len(oldest.body) + SET_BYTES
            self.lost[UNKNOWN] += 1

    def _decode_waiting(self, key: tuple[Source, int]) -> None:
        """Decode the sets whose template has come."""
        for each in self._waiting_for.pop(key, ()):
            source, waiting = self._waiting.pop(each)
            self._waiting_bytes -= len(waiting.body) + SET_BYTES
            try:
                self._records(source, self._templates[key], np.frombuffer(waiting.body, np.uint8), 0,
                              len(waiting.body), waiting.export_ns, waiting.uptime)
            except MalformedError:
                self.lost[UNKNOWN] += 1

    def _check_sequence(self, source: Source, sequence: int, count: int | None) -> None:
        """Count what is missing before a datagram; a late datagram is taken off again."""
        reason = LOST_DATAGRAMS if source[1] == 9 else LOST_FLOWS
        expected = self._expected.pop(source, None)
        if expected is not None:
            ahead = (sequence - expected) % 2**32
            if ahead >= 2**31 and 2**32 - ahead <= _REORDERED:
                self.lost[reason] -= min(self.lost[reason], count or 0)
                _note(self._expected, source, expected)
                return
            if ahead < 2**31:
                self.lost[reason] += ahead
        if count is not None:
            _note(self._expected, source, (sequence + count) % 2**32)


def _note(known: OrderedDict[Source, int], source: Source, value: int) -> None:
    """Note a number of a source, and forget the source that was longest not noted if there are too many."""
    known[source] = value
    known.move_to_end(source)
    if len(known) > MAX_SOURCES:
        known.popitem(last=False)

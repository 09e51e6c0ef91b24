"""Results, their windows, and rows for empty windows (docs/semantics.md, windows and aggregates)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from whimbrel.testing.oracle.events import Event, Payload
from whimbrel.testing.oracle.lifetimes import chop
from whimbrel.testing.oracle.stateless import Function

ROWS = "rows of the snapshot"
BOUNDS = "bounds of the window"
"""What a result is computed from, in addition to the keys."""
SINCE_OPENED = "rows since the group opened"


@dataclass(frozen=True)
class Windows:
    """A grid of windows."""

    size: int
    hop: int
    offset: int = 0
    label: Literal["start", "end"] = "start"
    closed: Literal["left", "right", "both", "none"] | None = None

    def bounds(self, start: Any) -> tuple[Any, Any]:
        """The window of a result that begins at `start`.

        "A tumbling result [T, T+size) speaks of events in [T, T+size)."
        "A hopping snapshot [T, T+hop) speaks of events in [T+hop-size, T+hop)."
        "label end: [T, T+hop) speaks of events in (T-size, T]." With gaps, windows begin at the grid.
        """
        if self.label == "end":
            return start - self.size, start
        if self.hop > self.size:
            return start, start + self.size
        return start + self.hop - self.size, start + self.hop


def snapshots(facts: Iterable[Event], keys: Mapping[str, Function]) -> list[Event]:
    """Every non-empty snapshot of every group, with the rows that are active in it."""
    groups: dict[tuple[Any, ...], list[Event]] = {}
    for event in facts:
        groups.setdefault(tuple(key(event[2]) for key in keys.values()), []).append(event)
    answer: list[Event] = []
    for group, members in groups.items():
        times = sorted({time for start, end, _ in members for time in (start, end)})
        for start, end in pairwise(times):
            active = [payload for begins, ends, payload in members if begins <= start and end <= ends]
            if active:
                answer.append((start, end, dict(zip(keys, group, strict=True)) | {ROWS: active}))
    return answer


def fill_windows(facts: Sequence[Event], keys: Sequence[str], windows: Windows) -> list[Event]:
    """A row of no rows for each group in each empty window.

    "For each group from its first window on, up to the last window of the stream in which any group has a row."
    """
    known: dict[tuple[Any, ...], set[Any]] = {}
    for start, _, payload in facts:
        known.setdefault(tuple(payload[key] for key in keys), set()).add(start)
    last = max((start for start, _, _ in facts), default=0)
    length = min(windows.size, windows.hop)
    return [*facts, *((start, start + length, dict(zip(keys, group, strict=True)) | {ROWS: []})
                      for group, starts in known.items()
                      for start in range(min(starts), int(last) + 1, windows.hop) if start not in starts)]


def carried(rows: Sequence[Event], keys: Sequence[str], windows: Windows, limit: int | None) -> list[Event]:
    """Rows of empty windows are about the rows of the last window with rows, up to `limit` windows before."""
    answer: list[Event] = []
    last: dict[tuple[Any, ...], tuple[Any, Any]] = {}
    for start, end, payload in sorted(rows, key=lambda row: row[0]):
        key, here = tuple(payload[name] for name in keys), payload[ROWS]
        if here:
            last[key] = start, here
        elif limit is None or start - last[key][0] <= limit * windows.hop:
            here = last[key][1]
        answer.append((start, end, payload | {ROWS: here}))
    return answer


def results(facts: Iterable[Event], columns: Mapping[str, Function], keys: Mapping[str, Function],
            windows: Windows | None, *, by_window: bool, fill: Any, fill_limit: int | None = None) -> list[Event]:
    """One row per snapshot, or `by_window` per window; each column is a function of its rows, keys and window."""
    rows = snapshots(facts, keys)
    if windows is not None and by_window:
        rows = chop(rows, windows.hop, offset=windows.offset)
        rows = fill_windows(rows, list(keys), windows) if fill is not False else rows
        rows = carried(rows, list(keys), windows, fill_limit) if fill == "previous" else rows
    constants = fill if isinstance(fill, Mapping) else {}
    return [(start, end, _computed(payload | {BOUNDS: windows.bounds(start) if windows else None}, columns, keys,
                                   {} if payload[ROWS] else constants)) for start, end, payload in rows]


def _computed(seen: Payload, columns: Mapping[str, Function], keys: Iterable[str],
              constants: Mapping[str, Any]) -> Payload:
    kept = {key: seen[key] for key in keys}
    return kept | {name: constants[name] if name in constants else of(seen) for name, of in columns.items()}


def epoch_aggregate(facts: Sequence[Event], size: int, closing: Function, results: Mapping[str, Function],
                    keys: Mapping[str, Function], *, offset: int = 0) -> list[Event]:
    """At each epoch's end each open group gives a row; then those for which `closing` is true close.

    "Ordinary aggregates speak of that epoch, running ones of all since the group opened", "also in epochs without
    rows"; a group's "next row opens another". Epochs end with the last one of the stream that has a row.
    """
    def epoch(time: Any) -> Any:
        return time - (time - offset) % size

    groups: dict[tuple[Any, ...], dict[Any, list[Payload]]] = {}
    for start, _, payload in facts:
        key = tuple(of(payload) for of in keys.values())
        groups.setdefault(key, {}).setdefault(epoch(start), []).append(payload)
    last = max((epoch(start) for start, _, _ in facts), default=0)
    answer: list[Event] = []
    for key, epochs in groups.items():
        named, since = dict(zip(keys, key, strict=True)), list[Payload]()
        at, is_open = min(epochs), False
        while at <= last:
            if is_open or at in epochs:
                rows = epochs.get(at, [])
                since, is_open = [*since, *rows], True
                seen = named | {ROWS: rows, BOUNDS: (at, at + size), SINCE_OPENED: since}
                answer.append((at, at + size, named | {name: of(seen) for name, of in results.items()}))
                if closing(seen) is True:
                    since, is_open = [], False
            at = at + size if is_open else min((each for each in epochs if each > at), default=last + 1)
    return answer

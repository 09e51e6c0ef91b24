"""Windows and other rewrites of lifetimes (docs/semantics.md, windows)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import floor
from typing import Literal

from whimbrel.errors import KernelError
from whimbrel.testing.oracle.events import INF, Event, Payload, Time
from whimbrel.testing.oracle.stateless import Function

Label = Literal["start", "end"]
Closed = Literal["left", "right", "both", "none"]


def floor_to(time: Time, hop: int, offset: int) -> Time:
    """The last point of the grid ``offset + k * hop`` that is not after `time`."""
    return time - (time - offset) % hop


def ceil_to(time: Time, hop: int, offset: int) -> Time:
    """The first point of the grid that is not before `time`."""
    return time + (offset - time) % hop


def tumbling_window(facts: Iterable[Event], size: int, *, offset: int = 0, label: Label = "start",
                    closed: Closed | None = None) -> list[Event]:
    """Hopping with hop = size."""
    return hopping_window(facts, size, size, offset=offset, label=label, closed=closed)


def hopping_window(facts: Iterable[Event], size: int, hop: int, *, offset: int = 0, label: Label = "start",
                   closed: Closed | None = None) -> list[Event]:
    """The window table, row by row.

    "label start: start := floor(start, hop), end := start + size. label end: start := ceil(start, hop). Size not a
    multiple of hop: end := snap(start + size)", where snap is the same floor or ceil of the original start + size; it
    equals the first rule when size is a multiple. "hop > size: events in the gaps are dropped": those `size` ticks or
    more away from the grid point that they snap to; the others last `size`. "Incoming duration is ignored."
    """
    if closed not in (None, "right" if label == "end" else "left"):
        return [event for fact in facts for event in _closed_window(fact, size, hop, offset, label, closed)]
    snap = floor_to if label == "start" else ceil_to
    if hop > size:
        near = [(snap(start, hop, offset), start, payload) for start, _, payload in facts]
        return [(at, at + size, payload) for at, start, payload in near if abs(start - at) < size]
    moved = [(snap(start, hop, offset), snap(start + size, hop, offset), payload) for start, _, payload in facts]
    return [event for event in moved if event[0] < event[1]]


def _closed_window(fact: Event, size: int, hop: int, offset: int, label: Label, closed: str) -> list[Event]:
    """An event is active at the grid points of the windows that it is in, one window after the other.

    A window ends (label "end": is shown) at a grid point, or with gaps begins at one. It has what lies strictly between
    its borders, and what lies on those that `closed` names.
    """
    start, _, payload = fact
    shown = []
    around = 2 * (size + hop)
    for point in range(int(floor_to(start, hop, offset)) - around // hop * hop, int(start) + around, hop):
        if label == "end":
            begin, end = point - size, point
        else:
            begin = point if hop > size else point + hop - size
            end = begin + size
        if begin < start < end or (start == begin and closed in ("left", "both")) or (
                start == end and closed in ("right", "both")):
            shown.append(point)
    return [(shown[0], shown[-1] + min(hop, size), payload)] if shown else []


def sliding_window(facts: Iterable[Event], size: int, *, closed: Closed = "right") -> list[Event]:
    """An event is active at the times whose window, the `size` ticks before them, has it."""
    first, last = closed in ("left", "none"), closed in ("left", "both")
    moved = [(start + first, start + size + last, payload) for start, _, payload in facts]
    return [event for event in moved if event[0] < event[1]]


def set_duration(facts: Iterable[Event], duration: int | Function | None) -> list[Event]:
    """As named; "non-positive duration deletes the event". A null duration is no known end, as a null end is."""
    return alter_lifetime(facts, duration=duration)


def align_samples(facts: Iterable[Event], period: Fraction, *, phase: Time | None = None, jitter: int = 0,
                  gaps: bool = False, per: Function | None = None) -> list[Event]:
    """The rule on jitter: a row within `jitter` of a sample's time is that sample, and starts at that time.

    Sample `i` is at ``phase + i * period``, rounded, halves up; without a phase the first row of each key is sample 0.
    The rest of the lifetime moves along. What lasted until about a later sample lasts until that sample.
    """
    zeros: dict[object, Time] = {}
    last: dict[object, tuple[int, Time]] = {}
    out = []
    for start, end, payload in sorted(facts, key=lambda event: event[0]):
        key = None if per is None else per(payload)
        zero = zeros.setdefault(key, start if phase is None else phase)
        about = floor((start - zero) / period)
        at = {sample: zero + floor(sample * period + Fraction(1, 2)) for sample in range(about - 2, about + 4)}
        sample = min(at, key=lambda each: (abs(at[each] - start), -each))
        before, ended = last.get(key, (None, None))
        if abs(at[sample] - start) > jitter or (before is not None and sample <= before):
            raise KernelError("not a sample of its own", where="align_samples", hint="")
        if before is not None and not gaps and sample != before + 1:
            raise KernelError("a sample is missing", where="align_samples", hint="")
        moved = at[sample] + (end - start)  # infinity stays infinity
        if 2 * (end - start) > period and end != INF:
            about = floor((end - zero) / period)
            near = [zero + floor(each * period + Fraction(1, 2)) for each in range(about - 1, about + 3)]
            moved = next((time for time in near if abs(time - end) <= jitter and time > at[sample]), moved)
        if ended is not None and ended > at[sample]:
            raise KernelError("events overlap", where="align_samples", hint="")
        last[key] = sample, moved
        out.append((at[sample], moved, payload))
    return out


def shift(facts: Iterable[Event], amount: int) -> list[Event]:
    """By an AMOUNT: both ends move by it; no known end stays no known end."""
    return [(start + amount, end + amount, payload) for start, end, payload in facts]


def alter_lifetime(facts: Iterable[Event], *, start: Function | None = None,
                   duration: int | Function | Literal["same"] | None = "same") -> list[Event]:
    """As named; "non-positive duration deletes the event; a start rewrite that would reorder the stream is an error".

    Functions read the payload and the event's own ``start`` and ``end``. Order inside one time carries no meaning, so
    the stream is reordered only if one event started before another and would start after it.
    """
    answer: list[tuple[Time, Event]] = []
    for old, end, payload in facts:
        row = payload | {"start": old, "end": None if end == INF else end}
        new = old if start is None else start(row)
        length = end - old if isinstance(duration, str) else duration(row) if callable(duration) else duration
        if new is None:
            raise KernelError("A null start.")
        if length is None or length > 0:
            answer.append((old, (new, INF if length is None else new + length, payload)))
    if any(before < after and first[0] > second[0] for before, first in answer for after, second in answer):
        raise KernelError("The stream would be reordered.")
    return [event for _, event in answer]


def retime(facts: Iterable[Event], start: Function) -> list[Event]:
    """Each event becomes a point at the new time."""
    moved = [(start(payload | {"start_time()": at}), payload) for at, _, payload in facts]
    return [(at, at + 1, payload) for at, payload in moved]


def extend(facts: Iterable[Event], by: int) -> list[Event]:
    """As named; "non-positive duration deletes the event"."""
    return [(start, end + by, payload) for start, end, payload in facts if end + by > start]


def clip_duration(facts: Iterable[Event], longest: int) -> list[Event]:
    """As named."""
    return [(start, min(end, start + longest), payload) for start, end, payload in facts]


def chop(facts: Iterable[Event], period: int, *, offset: int = 0) -> list[Event]:
    """As named: "split at the grid; an unbounded event at the end of stream is an error"."""
    answer: list[Event] = []
    for start, end, payload in facts:
        if end == INF:
            raise KernelError("An unbounded event.")
        cut = start
        while cut < end:
            began, cut = cut, min(end, floor_to(cut, period, offset) + period)
            answer.append((began, cut, payload))
    return answer


def point_at_end(facts: Iterable[Event]) -> list[Event]:
    """As named: "[end, end+1) for every event that ends"."""
    return [(end, end + 1, payload) for _, end, payload in facts if end != INF]


def edges(facts: Iterable[Event]) -> list[Event]:
    """A point where each event starts (other is null), and one where it ends (other is its start)."""
    starts = [(start, start + 1, payload | {"other": None}) for start, _, payload in facts]
    return starts + [(end, end + 1, payload | {"other": start}) for start, end, payload in facts if end != INF]


def quantize(facts: Iterable[Event], size: int, hop: int, *, offset: int = 0) -> list[Event]:
    """As named: "floor the start, ceil the end, uses the real end: an event that spans windows is in all of them".

    The windows are [T, T + size) for all T of the grid. An event starts with the window of its start. It ends with the
    first window that does not end before it.
    """
    return progressive_window(facts, size, hop, hop, offset=offset)


def progressive_window(facts: Iterable[Event], size: int, hop: int, period: int, *, offset: int = 0) -> list[Event]:
    """As quantize; "early partial results inside a window, on the finer grid": the start is floored to that."""
    return [(floor_to(start, period, offset),
             INF if end == INF else max(floor_to(start, hop, offset) + size, ceil_to(end, hop, offset + size)), payload)
            for start, end, payload in facts]


def stitch(facts: Iterable[Event]) -> list[Event]:
    """As named: "equal payloads where one ends and the next starts fuse, keeping the first start; inverse of chop".

    Null equals null and nan equals nan. One event continues one other: of those that end there the one that began
    first; of those that start there the one that ends first goes first.
    """
    chains: list[Event] = []
    for start, end, payload in sorted(facts, key=lambda event: event[:2]):
        ended = [at for at, chain in enumerate(chains) if chain[1] == start and _same_payload(chain[2], payload)]
        if ended:
            longest = min(ended, key=lambda at: chains[at][0])
            chains[longest] = (chains[longest][0], end, chains[longest][2])
        else:
            chains.append((start, end, payload))
    return chains


def _same_payload(left: Payload, right: Payload) -> bool:
    return all(left[name] == right[name] or (left[name] != left[name] and right[name] != right[name]) for name in left)


def session_window(facts: Iterable[Event], timeout: int, max_duration: int | None = None, *,
                   keys: Mapping[str, Function] | None = None,
                   emit: Literal["change", "close"] = "change") -> list[Event]:
    """Per key, "all events end together at last + timeout (inclusive), or when cut by max_duration".

    "Option emit=close: one result per closed session": every event lasts from the first of its session on. Sessions are
    cut at multiples of max_duration. A new session is cut at the first that is at least max_duration after its start.
    A session that continues within the timeout after a cut is cut at the first after its start.
    """
    groups: dict[tuple[object, ...], list[Event]] = {}
    for event in facts:
        groups.setdefault(tuple(key(event[2]) for key in (keys or {}).values()), []).append(event)
    answer: list[Event] = []
    for members in groups.values():
        sessions: list[list[Event]] = []
        closes = last = cut = -INF
        for event in sorted(members, key=lambda event: event[0]):
            start = event[0]
            if start >= closes:
                sessions.append([])
                if max_duration is None:
                    cut = INF
                elif start - last < timeout:
                    cut = floor_to(start, max_duration, 0) + max_duration
                else:
                    cut = ceil_to(start, max_duration, 0) + max_duration
            sessions[-1].append(event)
            last, closes = start, min(start + timeout, cut)
            sessions[-1] = [(begun, closes, payload) for begun, _, payload in sessions[-1]]
        answer += [(session[0][0] if emit == "close" else start, end, payload)
                   for session in sessions for start, end, payload in session]
    return answer


def whole_window(facts: Iterable[Event]) -> list[Event]:
    """All events last from the first one on."""
    facts = list(facts)
    first = min((start for start, _, _ in facts), default=0)
    return [(first, INF, payload) for _, _, payload in facts]


def table_window(facts: Iterable[Event], windows: Iterable[tuple[Time, Time]]) -> list[Event]:
    """An event lasts for the window that has its start; outside of windows it is dropped."""
    windows = list(windows)
    return [(begin, end, payload) for start, _, payload in facts for begin, end in windows if begin <= start < end]


def distinct_within(facts: Iterable[Event], span: int, *, keys: Mapping[str, Function]) -> list[Event]:
    """An event stays if none of its key that stayed started less than `span` before it; of one time the smallest."""
    def rank(event: Event) -> list[object]:
        return [event[0], *((value is None, 0 if value is None else value) for value in event[2].values()), event[1]]

    stayed: dict[tuple[object, ...], Time] = {}
    answer: list[Event] = []
    for event in sorted(facts, key=rank):
        key = tuple(of(event[2]) for of in keys.values())
        if key not in stayed or event[0] - stayed[key] >= span:
            stayed[key] = event[0]
            answer.append(event)
    return answer


def last_rows(facts: Iterable[Event], rows: int, *, keys: Mapping[str, Function] | None = None) -> list[Event]:
    """An event ends where the `rows`-th of the events of its key that start strictly later starts."""
    groups: dict[tuple[object, ...], list[Event]] = {}
    for event in facts:
        groups.setdefault(tuple(key(event[2]) for key in (keys or {}).values()), []).append(event)
    answer: list[Event] = []
    for members in groups.values():
        starts = sorted(start for start, _, _ in members)
        for start, _, payload in members:
            later = [time for time in starts if time > start]
            answer.append((start, later[rows - 1] if len(later) >= rows else INF, payload))
    return answer

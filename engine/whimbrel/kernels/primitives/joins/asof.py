"""As-of join by a merge in time order, per key."""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.lifetimes.time_distance import elapsed, middle

Array = np.ndarray[Any, Any]

INF = 2**63 - 1
BACKWARD, FORWARD, NEAREST = 0, 1, 2
"""Directions."""
LEFT, ENTRY, PASSED = 0, 1, 2
"""Positions in the cursor: next left row; where among simultaneous right rows an interrupted walk resumes; the right
rows that left ones have passed in time."""
FRESH = -2


def latest_match(
    cursor: Array, tolerance: int, strict: bool, last: bool, right: int, left_sync: Array, left_group: Array,
    start: Array, group: Array, after: Array, latest: Array, out_left: Array, out_right: Array,
) -> int:
    """Write, for left rows in time order, every right row of the latest instant up to theirs; -1 if there is none.

    With `strict` it is the latest instant before theirs. With `last` only the last row of the instant is written. A
    merge of both sides in time: each of the `right` slots in turn becomes its key's latest, and nothing is searched.
    Otherwise simultaneous rows of a key are linked after the first of them. Stops when a buffer is full. Returns the
    number of pairs written.
    """
    done, passed, entry = 0, cursor[PASSED], cursor[ENTRY]
    for row in range(cursor[LEFT], left_sync.shape[0]):
        if entry == FRESH:
            sync, mine = left_sync[row], left_group[row]
            while passed < right and (start[passed] < sync or (start[passed] == sync and not strict)):
                after[passed] = -1
                if not last and passed > 0 and start[passed - 1] == start[passed]:
                    link_after(passed, start, after, latest, group[passed])
                else:
                    latest[group[passed]] = passed
                passed += 1
            entry = latest[mine] if mine >= 0 else -1
            if entry >= 0 and tolerance < INF and elapsed(sync, start[entry]) > tolerance:
                entry = -1
        while entry != FRESH:
            if done == out_left.shape[0]:
                cursor[LEFT], cursor[ENTRY], cursor[PASSED] = row, entry, passed
                return done
            out_left[done], out_right[done] = row, entry
            done += 1
            entry = after[entry] if entry >= 0 and after[entry] >= 0 else FRESH
    cursor[LEFT], cursor[ENTRY], cursor[PASSED] = left_sync.shape[0], FRESH, passed
    return done


def link_after(slot: int, start: Array, after: Array, latest: Array, group: int) -> None:
    """Let a slot be the last of its key's latest instant, or the first of a new one."""
    entry = latest[group]
    if entry < 0 or start[entry] != start[slot]:
        latest[group] = slot
        return
    while after[entry] >= 0:
        entry = after[entry]
    after[entry] = slot


def asof_match(
    cursor: Array, direction: int, tolerance: int, strict: bool, last: bool, known: int, left_sync: Array,
    left_group: Array, start: Array, after: Array, first: Array, out_left: Array, out_right: Array,
) -> int:
    """Write, for left rows in time order, every right row of the instant that is nearest; -1 if there is none.

    With `strict` an equal instant is none of them. With `last` only the last row of the instant is written. Right rows
    of one key hang in a chain in time order; no further one can come before `known`. Stops at the first left row that
    right rows still to come might match, or when a buffer is full. Returns the number of pairs written.
    """
    done = 0
    while cursor[LEFT] < left_sync.shape[0]:
        sync, group = left_sync[cursor[LEFT]], left_group[cursor[LEFT]]
        if cursor[ENTRY] == FRESH:
            before, behind = -1, -1
            if group >= 0:
                before, behind = around(sync, group, strict, start, after, first)
            if before >= 0 and ((direction == FORWARD and start[before] < sync)
                                or elapsed(sync, start[before]) > tolerance):
                before = -1
            if behind >= 0 and (direction == BACKWARD or elapsed(start[behind], sync) > tolerance):
                behind = -1
            chosen, reach = before, sync
            if before >= 0:
                distance = elapsed(sync, start[before])
                if direction == NEAREST:
                    reach = sync + min(distance - 1, INF - max(sync, 0)) if distance > 0 else sync
                    if behind >= 0 and middle(start[before], start[behind]) < sync:
                        chosen, reach = behind, start[behind]
            elif behind >= 0:
                chosen, reach = behind, start[behind]
            elif direction != BACKWARD and group >= 0:
                reach = sync + min(tolerance, INF - max(sync, 0))
            if reach >= known and known != INF:
                return done
            while last and chosen >= 0 and after[chosen] >= 0 and start[after[chosen]] == start[chosen]:
                chosen = after[chosen]
            cursor[ENTRY] = chosen
        if done == out_left.shape[0]:
            return done
        out_left[done], out_right[done] = cursor[LEFT], cursor[ENTRY]
        done += 1
        following = -1
        if cursor[ENTRY] >= 0:
            following = after[cursor[ENTRY]]
            if following >= 0 and start[following] != start[cursor[ENTRY]]:
                following = -1
        cursor[ENTRY] = following
        if following < 0:
            cursor[ENTRY] = FRESH
            cursor[LEFT] += 1
    return done


def around(sync: int, group: int, strict: bool, start: Array, after: Array, first: Array) -> tuple[int, int]:
    """The first right rows of the latest instant up to `sync`, and of the first one from `sync` on; -1 if none.

    With `strict` of the latest instant before `sync` and of the first one after it. Moves the chain's beginning on to
    the former: left rows come in time order, so none will ask for earlier ones.
    """
    entry = first[group]
    before, following = -1, entry
    while following >= 0 and (start[following] < sync or (start[following] == sync and not strict)):
        if before < 0 or start[following] != start[before]:
            before = following
        following = after[following]
    if before >= 0:
        first[group] = before
    if strict:
        while following >= 0 and start[following] == sync:
            following = after[following]
    elif before >= 0 and start[before] == sync:
        following = before
    return before, following


def hang_last(base: int, group: Array, after: Array, first: Array, last: Array) -> None:
    """Put rows, from slot `base` on, at the end of their key's chain."""
    for row in range(group.shape[0]):
        slot, mine = base + row, group[row]
        after[slot] = -1
        if first[mine] < 0:
            first[mine] = slot
        else:
            after[last[mine]] = slot
        last[mine] = slot

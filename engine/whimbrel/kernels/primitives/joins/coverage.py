"""Covered and uncovered pieces of lifetimes.

Coverings of one row may overlap; where one ends and the next starts there is no gap. What holds at an instant is
decided when time moves past it. A piece is written at its start; if its end is known while it is still in the output
buffer it is an interval, otherwise a start edge now and an end edge later.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.sorting.heap import heap_pop, heap_push

Array = np.ndarray[Any, Any]

INF = 2**63 - 1
UNBORN, COVERED, BARE, ENDED = 0, 1, 2, 3
"""States of a row; while it is unborn, what holds at its start is still to be decided."""
ARRIVED, COVERING, TIMERS, WRITTEN = 0, 1, 2, 3
"""Positions in the array of scalars: next arriving row, next covering, size of the heap, rows written before."""


def coverage_pieces(
    scalars: Array, wanted: int, limit: int, base: int, sync: Array, who: Array, start: Array, end: Array,
    state: Array, ends: Array, until: Array, since: Array, piece: Array, awaits_end: Array, times: Array, slots: Array,
    out_slot: Array, out_sync: Array, out_other: Array, out_id: Array,
) -> int:
    """Write what begins or ends before `limit` of the pieces in state `wanted`; stop early when a buffer is full.

    Row r of the arriving ones has slot ``base + r``. Coverings ``[start, end)`` of row `who` are in the order of start,
    up to `limit`; none before `limit` can follow. A piece's id is its place among all rows ever written; `piece` holds
    the id of each row's open piece, or -1. Returns the number of rows written.
    """
    while scalars[ARRIVED] < sync.shape[0]:
        scalars[TIMERS] = heap_push(times, slots, scalars[TIMERS], sync[scalars[ARRIVED]], base + scalars[ARRIVED])
        scalars[ARRIVED] += 1
    written = scalars[WRITTEN]
    done = 0
    while done < out_slot.shape[0]:
        time = start[scalars[COVERING]] if scalars[COVERING] < start.shape[0] else INF
        timer = times[0] if scalars[TIMERS] > 0 else INF
        if time <= timer:
            if time == INF:
                break
            slot = who[scalars[COVERING]]
            until[slot] = max(until[slot], end[scalars[COVERING]])
            scalars[COVERING] += 1
            turned = COVERED if state[slot] == BARE else state[slot]
        else:
            if timer >= limit:
                break
            time, slot = timer, slots[0]
            scalars[TIMERS] = heap_pop(times, slots, scalars[TIMERS])
            if state[slot] == ENDED or time == ends[slot]:
                turned = ENDED
            elif until[slot] <= time:
                turned = BARE
            else:
                turned = COVERED
                if until[slot] < INF:
                    scalars[TIMERS] = heap_push(times, slots, scalars[TIMERS], until[slot], slot)
        if turned != state[slot]:
            if piece[slot] >= written:
                out_other[piece[slot] - written], out_id[piece[slot] - written] = time, -1
            elif piece[slot] >= 0:
                out_slot[done], out_sync[done], out_other[done], out_id[done] = slot, time, since[slot], piece[slot]
                done += 1
            piece[slot] = -1
            if turned == wanted:
                out_slot[done], out_sync[done], out_other[done], out_id[done] = slot, time, INF, written + done
                piece[slot], since[slot] = written + done, time
                done += 1
            if turned == COVERED and state[slot] == BARE and until[slot] < INF:
                scalars[TIMERS] = heap_push(times, slots, scalars[TIMERS], until[slot], slot)
            if turned == BARE and wanted == BARE and not awaits_end[slot] and ends[slot] < INF:
                awaits_end[slot] = True
                scalars[TIMERS] = heap_push(times, slots, scalars[TIMERS], ends[slot], slot)
            state[slot] = turned
        if turned == COVERED and until[slot] == ends[slot] and piece[slot] >= written:  # its end is known already
            out_other[piece[slot] - written], out_id[piece[slot] - written] = ends[slot], -1
            piece[slot] = -1
    return done

"""Schedule of snapshots over arbitrary lifetimes.

A snapshot is a maximal period in which the set of active events of a group does not change. Changes at one instant are
one transition. A snapshot's row is written when time moves past its start; if its end comes within the same step the
row is an interval, otherwise a start edge now and an end edge later.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.hashing.hash_table import index
from whimbrel.kernels.primitives.sorting.heap import heap_pop, heap_push
from whimbrel.kernels.primitives.windows.panes import ADD, AGAIN, CLEAR, DROP, EMIT

Array = np.ndarray[Any, Any]

INF = 2**63 - 1
NOW, ENDS, FREE, USED, DIRTY, NEXT_ID, REMOVED, FIRST, DISORDERLY = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""Positions in the array of scalars: current time, pending ends, free slots, slots ever used, changed groups, next row
id. Then: slots removed during this step, the start of the queue of ends, and whether ends are a heap, not a queue."""

CELL = 8
"""Numbers kept for each group, side by side so that a visit costs one cache line:"""
ACTIVE, SINCE, OPEN_ROW, OPEN_ID, CHANGED = 0, 1, 2, 3, 4
"""Its active rows, the start of its open row (INF: none), that row's place in this step's output (-1: it went out
before), that row's id, whether it changed at the current time."""


def snapshot_schedule(
    row: int, sync: Array, other: Array, group: Array, skip: Array, limit: int, linked: bool, scalars: Array,
    ends: Array, end_slots: Array, free: Array, removed: Array, held_sync: Array, held_other: Array, held_group: Array,
    head: Array, after: Array, before: Array, cells: Array, dirty: Array,
    kind: Array, who: Array, which: Array, slot: Array, target: Array, count: Array,
    out_sync: Array, out_other: Array, out_group: Array, out_ids: Array,
) -> int:
    """Write operations for rows from `row` on and for ends up to `limit`; stop early when a buffer is full.

    No row with ``sync < limit`` can follow the rows given. Ends that come in order wait in a ring, others in a heap:
    at the first one out of order the step stops, with DISORDERLY set, for the ring to be laid straight. `linked` says
    whether the rows of a group hang in a chain, which costs as much as all the rest. Returns the first row not done,
    or -1 when all is done.
    """
    unlink_removed(linked, scalars, removed, free, held_group, head, after, before)
    operations = 0
    outputs = 0
    finished = False
    capacity = ends.shape[0]
    while True:
        while row < sync.shape[0] and skip.shape[0] and skip[row]:
            row += 1
        start = sync[row] if row < sync.shape[0] else INF
        end = ends[scalars[FIRST]] if scalars[ENDS] > 0 else INF
        time = min(start, end)
        finished = row == sync.shape[0] and (end > limit or scalars[ENDS] == 0)
        if scalars[DIRTY] > 0 and (limit > scalars[NOW] if finished else time > scalars[NOW]):
            if operations + 3 * scalars[DIRTY] > kind.shape[0] or outputs + 2 * scalars[DIRTY] > out_sync.shape[0]:
                finished = False
                break
            now = scalars[NOW]
            for position in range(scalars[DIRTY]):
                mine = dirty[position]
                cell = CELL * index(mine)
                cells[cell + CHANGED] = 0
                if cells[cell + SINCE] != INF:
                    if cells[cell + OPEN_ROW] >= 0:
                        out_other[cells[cell + OPEN_ROW]] = now
                    else:
                        kind[operations], who[operations], target[operations] = AGAIN, mine, outputs
                        operations += 1
                        out_sync[outputs], out_other[outputs] = now, cells[cell + SINCE]
                        out_group[outputs], out_ids[outputs] = mine, cells[cell + OPEN_ID]
                        outputs += 1
                    cells[cell + SINCE] = INF
                if cells[cell + ACTIVE] > 0:
                    kind[operations], who[operations], target[operations] = EMIT, mine, outputs
                    operations += 1
                    out_sync[outputs], out_other[outputs] = now, INF
                    out_group[outputs], out_ids[outputs] = mine, scalars[NEXT_ID]
                    cells[cell + SINCE], cells[cell + OPEN_ROW] = now, outputs
                    cells[cell + OPEN_ID] = scalars[NEXT_ID]
                    scalars[NEXT_ID] += 1
                    outputs += 1
                else:
                    kind[operations], who[operations] = CLEAR, mine
                    operations += 1
            scalars[DIRTY] = 0
        no_slot = start < end and scalars[FREE] == 0 and scalars[USED] == held_sync.shape[0]
        if finished or no_slot or operations == kind.shape[0]:
            break
        if start < end and other[row] != INF and scalars[DISORDERLY] == 0 and scalars[ENDS] > 0:
            newest = scalars[FIRST] + scalars[ENDS] - 1
            if other[row] < ends[newest if newest < capacity else newest - capacity]:
                scalars[DISORDERLY] = 1
                break
        scalars[NOW] = time
        if end <= start:  # ends are removed first: an integer sum must not overflow in between
            entry = end_slots[scalars[FIRST]]
            if scalars[DISORDERLY]:
                scalars[ENDS] = heap_pop(ends, end_slots, scalars[ENDS])
            else:
                scalars[FIRST] = scalars[FIRST] + 1 if scalars[FIRST] + 1 < capacity else 0
                scalars[ENDS] -= 1
            mine = held_group[entry]
            cell = CELL * index(mine)
            cells[cell + ACTIVE] -= 1
            removed[scalars[REMOVED]] = entry
            scalars[REMOVED] += 1
            kind[operations], who[operations], slot[operations] = DROP, mine, entry
        else:
            if scalars[FREE] > 0:
                scalars[FREE] -= 1
                entry = free[scalars[FREE]]
            else:
                entry = scalars[USED]
                scalars[USED] += 1
            mine = group[row]
            cell = CELL * index(mine)
            cells[cell + ACTIVE] += 1
            held_sync[entry], held_other[entry], held_group[entry] = sync[row], other[row], mine
            if linked:
                link(entry, mine, head, after, before)
            if other[row] == INF:
                pass
            elif scalars[DISORDERLY]:
                scalars[ENDS] = heap_push(ends, end_slots, scalars[ENDS], other[row], entry)
            else:
                last = scalars[FIRST] + scalars[ENDS]
                last = last if last < capacity else last - capacity
                ends[last], end_slots[last] = other[row], entry
                scalars[ENDS] += 1
            kind[operations], who[operations], which[operations], slot[operations] = ADD, mine, row, entry
            row += 1
        operations += 1
        if cells[cell + CHANGED] == 0:
            cells[cell + CHANGED] = 1
            dirty[scalars[DIRTY]] = mine
            scalars[DIRTY] += 1
    for position in range(outputs):  # rows still open when this step's output leaves get an end edge later
        cell = CELL * index(out_group[position])
        if cells[cell + OPEN_ROW] == position:
            cells[cell + OPEN_ROW] = -1
    count[0] = operations
    count[1] = outputs
    return -1 if finished else row


def link(entry: Any, mine: Any, head: Array, after: Array, before: Array) -> None:
    after[entry], before[entry] = head[mine], -1
    if head[mine] >= 0:
        before[head[mine]] = entry
    head[mine] = entry


def chain(scalars: Array, free: Array, held_group: Array, head: Array, after: Array, before: Array) -> None:
    """Make the chains of all groups, which have none yet; rows that are gone since the last step still hang in them."""
    head[:] = -1
    taken = np.ones(scalars[USED], np.bool_)
    taken[free[: scalars[FREE]]] = False
    for entry in range(scalars[USED]):
        if taken[entry]:
            link(entry, held_group[entry], head, after, before)


def unlink_removed(
    linked: bool, scalars: Array, removed: Array, free: Array, held_group: Array, head: Array, after: Array,
    before: Array,
) -> None:
    """Free the slots that were left during the last step; until now a replay may still have looked at them."""
    for position in range(scalars[REMOVED]):
        entry = removed[position]
        if linked:
            if before[entry] >= 0:
                after[before[entry]] = after[entry]
            else:
                head[held_group[entry]] = after[entry]
            if after[entry] >= 0:
                before[after[entry]] = before[entry]
        free[scalars[FREE]] = entry
        scalars[FREE] += 1
    scalars[REMOVED] = 0

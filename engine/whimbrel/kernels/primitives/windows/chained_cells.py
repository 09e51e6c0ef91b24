"""Open panes of several latencies, with cells only for groups with rows.

A cell is a group in a pane. It is found once a row and has one state for each latency. A row counts for every latency
that its lateness does not exceed; its cell counts rows for the smallest of them only, and hands the number on when that
latency closes the pane. Panes are in the order of their starts.

The cells of a pane are a chain in the order of their first rows, and are found by open addressing. A cell that goes
leaves no mark there (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.windows.open_panes import pane_position
from whimbrel.kernels.primitives.windows.panes import ADD, CLEAR, EMIT

Array = np.ndarray[Any, Any]

PANES, USED, FREE = range(3)
"""Positions in the array of scalars: open panes; cells that were ever used, and those on the list of free ones."""


def add_to_cells(row: int, sync: Array, group: Array, skip: Array, band: Array, latencies: int, hop: int, offset: int,
                 scalars: Array, starts: Array, heads: Array, tails: Array, free: Array, pane: Array,
                 cell_group: Array, after: Array, table: Array, rows: Array, kind: Array, who: Array, which: Array,
                 count: Array) -> int:
    """Put rows into their cells, until they end or a buffer is full.

    Parameters
    ----------
    row : int
    sync, group, skip, band : arrays
        Start, number of the group (empty: one group), whether to leave it out (empty: none) and the number of its
        latency, for each row.
    latencies, hop, offset : int
    scalars, starts, heads, tails : arrays of int64
        Open panes in order: their start, and the first and the last of their cells.
    free : array of int64
        Cells that can be used again; as long as there may be cells.
    pane, cell_group, after : arrays of int64
        For each cell: the start of its pane, its group and the next cell.
    table : array of int64
        Cell + 1 by pane and group, or 0.
    rows : array of int64
        For each cell and latency: rows that no smaller latency counts.
    kind, who, which, count : arrays
        Out: operations, as in ``panes``; `kind` is empty where nothing but rows is counted.

    Returns
    -------
    int
        The first row that was not done.
    """
    panes, operations = scalars[PANES], 0
    low: Any = np.int64(0)
    high: Any = np.int64(0)
    at: Any = np.int64(0)
    cell: Any = np.int64(-1)
    while row < sync.shape[0]:
        mine = band[row]
        if mine == latencies or (skip.shape[0] and skip[row]):
            row += 1
            continue
        time = sync[row]
        key = group[row] if group.shape[0] else 0
        if not low <= time < high:
            low = time - (time - offset) % hop
            high, cell = low + hop, -1
            at = pane_position(starts, panes, low)
            if at == panes or starts[at] != low:
                if panes == starts.shape[0]:
                    break
                for later in range(panes, at, -1):
                    starts[later], heads[later], tails[later] = starts[later - 1], heads[later - 1], tails[later - 1]
                starts[at], heads[at], tails[at] = low, -1, -1
                panes += 1
        if cell < 0 or cell_group[cell] != key:
            cell = _cell_of(table, pane, cell_group, low, key)
            if cell < 0:
                cell = _unused(scalars, free)
                if cell < 0:
                    break
                pane[cell], cell_group[cell], after[cell] = low, key, -1
                if heads[at] < 0:
                    heads[at] = cell
                else:
                    after[tails[at]] = cell
                tails[at] = cell
                _enter(table, low, key, cell)
        if kind.shape[0]:
            if operations + latencies > kind.shape[0]:
                break
            for latency in range(mine, latencies):
                kind[operations] = ADD
                who[operations] = cell * latencies + latency
                which[operations] = row
                operations += 1
        rows[cell * latencies + mine] += 1
        row += 1
    scalars[PANES] = panes
    count[0] = operations
    return row


def close_cells(until: Array, latencies: int, adds: bool, scalars: Array, starts: Array, heads: Array,
                tails: Array, free: Array, pane: Array, cell_group: Array, after: Array, table: Array, rows: Array,
                closed: Array, kind: Array, who: Array, target: Array, count: Array, out_sync: Array,
                out_group: Array, out_rows: Array, out_latency: Array) -> bool:
    """Give the groups of panes that begin before a time for each latency; False if a buffer was full.

    A larger latency takes over the rows of a smaller one; after the last one cells are free. `closed` says for each
    latency before which time panes are done. The other arguments are as in :func:`add_to_cells`; with `adds` there are
    operations.
    """
    for latency in range(latencies):
        if until[latency] > closed[latency] and not _close(
                latency, until[latency], latencies, adds, scalars, starts, heads, tails, free, pane, cell_group, after,
                table, rows, closed, kind, who, target, count, out_sync, out_group, out_rows, out_latency):
            return False
    return True


def _close(latency: int, until: int, latencies: int, adds: bool, scalars: Array, starts: Array, heads: Array,
           tails: Array, free: Array, pane: Array, cell_group: Array, after: Array, table: Array, rows: Array,
           closed: Array, kind: Array, who: Array, target: Array, count: Array, out_sync: Array, out_group: Array,
           out_rows: Array, out_latency: Array) -> bool:
    panes, operations, outputs = scalars[PANES], count[0], count[1]
    at, is_last = pane_position(starts, panes, closed[latency]), latency == latencies - 1
    while at < panes and starts[at] < until:
        first = heads[at]
        cell = first
        while cell >= 0:
            here = cell * latencies + latency
            if rows[here]:
                if outputs == out_sync.shape[0] or operations + 2 > kind.shape[0]:
                    heads[at] = cell if is_last else first
                    count[0], count[1] = operations, outputs
                    return False
                if adds:
                    kind[operations], kind[operations + 1] = EMIT, CLEAR
                    who[operations], who[operations + 1] = here, here
                    target[operations] = outputs
                    operations += 2
                out_sync[outputs], out_rows[outputs] = starts[at], rows[here]
                out_group[outputs], out_latency[outputs] = cell_group[cell], latency
                outputs += 1
                if not is_last:
                    rows[here + 1] += rows[here]
                rows[here] = 0
            if is_last:
                _take_out(table, pane, cell_group, cell)
                free[scalars[FREE]] = cell
                scalars[FREE] += 1
            cell = after[cell]
        at += 1
        closed[latency] = starts[at - 1] + 1
    closed[latency] = max(closed[latency], until)
    if is_last and at > 0:
        for left in range(at, panes):
            starts[left - at], heads[left - at], tails[left - at] = starts[left], heads[left], tails[left]
        scalars[PANES] = panes - at
    count[0], count[1] = operations, outputs
    return True


def enter_cells(table: Array, pane: Array, cell_group: Array, after: Array, panes: int, heads: Array) -> None:
    """Put the cells of open panes into an empty table."""
    for at in range(panes):
        cell = heads[at]
        while cell >= 0:
            _enter(table, pane[cell], cell_group[cell], cell)
            cell = after[cell]


def chain_pages(stride: int, latencies: int, groups: int, panes: int, starts: Array, pages: Array, counted: Array,
                heads: Array, tails: Array, rows: Array, pane: Array, cell_group: Array, after: Array, table: Array,
                moved: Array) -> int:
    """Number the cells of pages that have rows, and chain them, as long as there are cells.

    `counted` is the number of rows in each cell of a page. `moved` says for each cell and latency which cell of a page
    has its states, or -1.

    Returns the number of cells.
    """
    used = 0
    for at in range(panes):
        heads[at], tails[at] = -1, -1
        for key in range(groups):
            found, here = np.int64(0), np.int64(-1)
            for latency in range(latencies):
                page = pages[at * latencies + latency]
                own = counted[page * stride + key] if page >= 0 else np.int64(0)
                here = page * stride + key if page >= 0 else here
                found += own
                rows[used * latencies + latency], moved[used * latencies + latency] = own, here
            if found == 0:
                continue
            pane[used], cell_group[used], after[used] = starts[at], key, -1
            if heads[at] < 0:
                heads[at] = used
            else:
                after[tails[at]] = used
            tails[at] = used
            _enter(table, starts[at], key, used)
            used += 1
            if used == pane.shape[0]:
                return used
    return used


def _unused(scalars: Array, free: Array) -> Any:
    """A cell that is in no pane, or -1."""
    if scalars[FREE]:
        scalars[FREE] -= 1
        return free[scalars[FREE]]
    if scalars[USED] == free.shape[0]:
        return np.int64(-1)
    scalars[USED] += 1
    return scalars[USED] - 1


def _enter(table: Array, low: Any, key: int, cell: Any) -> None:
    slot = _slot_of(table, low, key)
    while table[slot]:
        slot = (slot + 1) & (table.shape[0] - 1)
    table[slot] = cell + 1


def _slot_of(table: Array, low: Any, key: int) -> Any:
    mixed = (np.uint64(low) ^ (np.uint64(key) * np.uint64(0xC2B2AE3D27D4EB4F))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((mixed >> np.uint64(32)) * np.uint64(table.shape[0]) >> np.uint64(32))


def _cell_of(table: Array, pane: Array, cell_group: Array, low: Any, key: int) -> Any:
    slot = _slot_of(table, low, key)
    while table[slot]:
        cell = table[slot] - 1
        if pane[cell] == low and cell_group[cell] == key:
            return cell
        slot = (slot + 1) & (table.shape[0] - 1)
    return -1


def _take_out(table: Array, pane: Array, cell_group: Array, cell: int) -> None:
    """Remove a cell, and move those up that were pushed away from their place."""
    mask = table.shape[0] - 1
    hole = _slot_of(table, pane[cell], cell_group[cell])
    while table[hole] != cell + 1:
        hole = (hole + 1) & mask
    slot = hole
    while True:
        slot = (slot + 1) & mask
        if table[slot] == 0:
            break
        home = _slot_of(table, pane[table[slot] - 1], cell_group[table[slot] - 1])
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            table[hole] = table[slot]
            hole = slot
    table[hole] = 0

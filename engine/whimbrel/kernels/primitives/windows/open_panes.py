"""Open panes of several reorder latencies, over rows in any order.

A row counts for every latency that its lateness does not exceed. It is counted once, in a page: a page has a number for
every group, and is of a pane and one latency. Rows come to a pane in a page of their smallest latency. When that
latency closes the pane, the page becomes that of the next latency, or is added to it if there is one. As a pane is open
for many latencies, but rows come to it for the first of them, a pane has one page most of the time.

A number of rows is one byte. Where it is larger, the page has a second one for how often that byte was full.

Aggregates have a state for each cell of a page, of all rows up to its latency. A new page begins with the states of the
page of the latency before. A row enters all pages of its latency and of larger ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whimbrel.kernels.primitives.windows.panes import ADD, CLEAR, COPY, EMIT

Array = np.ndarray[Any, Any]

PANES, USED, FREE, HIGH_USED, HIGH_FREE, NEXT = range(6)
"""Positions in the array of scalars. Open panes. Pages that were ever used, and those on the list of free ones. The
same for second pages. The group with which closing a pane resumes."""
FULL = 256
"""Rows for which the second page counts one."""


def add_to_pages(row: int, sync: Array, group: Array, skip: Array, band: Array, latencies: int, hop: int, offset: int,
                 stride: int, groups: int, scalars: Array, starts: Array, pages: Array, free: Array, rows: Array,
                 high_of: Array, high_free: Array, high: Array, kind: Array, who: Array, which: Array,
                 count: Array) -> int:
    """Put rows into their cells, until they end or a buffer is full.

    Parameters
    ----------
    row : int
    sync, group, skip, band : arrays
        Start, number of the group (empty: one group), whether to leave it out (empty: none) and the number of its
        latency, for each row.
    latencies, hop, offset : int
    stride, groups : int
        Cells in a page, and those of them that are of a group.
    scalars, starts : arrays of int64
        Open panes in order: their start.
    pages : array of int32
        For each open pane and latency: its page, or -1.
    free, high_free : arrays of int32
        Pages that can be used again; as long as there may be pages.
    rows : array of uint8
        For each cell.
    high_of, high : arrays of int32
        The second page of each page, or -1, and the numbers in it.
    kind, who, which, count : arrays
        Out: operations, as in ``panes``; `kind` is empty where nothing but rows is counted.

    Returns
    -------
    int
        The first row that was not done.
    """
    operations = 0
    begin: Any = np.int64(0)
    end: Any = np.int64(0)
    at: Any = np.int64(0)
    alone = not group.shape[0] and not kind.shape[0]  # then a run of rows is one addition
    while row < sync.shape[0]:
        mine = band[row]
        if mine == latencies or (skip.shape[0] and skip[row]):
            row += 1
            continue
        time = sync[row]
        key = group[row] if group.shape[0] else 0
        if not begin <= time < end:
            begin = time - (time - offset) % hop
            end = begin + hop
            at += 1  # where rows ascend, the next pane is mostly the one
            if at >= scalars[PANES] or starts[at] != begin:
                at = pane_position(starts, scalars[PANES], begin)
            if at == scalars[PANES] or starts[at] != begin:
                if scalars[PANES] == starts.shape[0]:
                    break
                _insert(scalars, starts, pages, latencies, at, begin)
        page = pages[at * latencies + mine]
        if page < 0:
            if kind.shape[0] and operations + groups > kind.shape[0]:
                break
            page = _unused(scalars, USED, free)
            if page < 0:
                break
            before = -1
            for latency in range(mine):
                before = max(before, at * latencies + latency) if pages[at * latencies + latency] >= 0 else before
            if kind.shape[0] and before >= 0:
                for cell in range(groups):
                    kind[operations] = COPY
                    who[operations] = page * stride + cell
                    which[operations] = pages[before] * stride + cell
                    operations += 1
            pages[at * latencies + mine] = page
        if kind.shape[0] and operations + latencies > kind.shape[0]:
            break
        stop = row + 1
        while (alone and stop < sync.shape[0] and band[stop] == mine and begin <= sync[stop] < end
               and not (skip.shape[0] and skip[stop])):
            stop += 1
        counted = np.int64(rows[page * stride + key]) + stop - row
        if not _carry(scalars, page, key, stride, high_of, high_free, high, counted // FULL):
            break
        rows[page * stride + key] = counted % FULL
        if kind.shape[0]:
            for latency in range(mine, latencies):
                page = pages[at * latencies + latency]
                if page >= 0:
                    kind[operations] = ADD
                    who[operations] = page * stride + key
                    which[operations] = row
                    operations += 1
        row = stop
    count[0] = operations
    return row


def close_pages(until: Array, latencies: int, stride: int, groups: int, adds: bool, scalars: Array,
                starts: Array, pages: Array, free: Array, rows: Array, high_of: Array, high_free: Array, high: Array,
                closed: Array, kind: Array, who: Array, target: Array, count: Array, out_sync: Array, out_group: Array,
                out_rows: Array, out_latency: Array) -> bool:
    """Give the groups of panes that begin before a time for each latency; False if a buffer was full.

    A larger latency takes over the rows of a smaller one. `closed` says for each latency before which time panes are
    done. The other arguments are as in :func:`add_to_pages`; with `adds` there are operations.
    """
    for latency in range(latencies):
        if until[latency] > closed[latency] and not _close(
                latency, until[latency], latencies, stride, groups, adds, scalars, starts, pages, free, rows, high_of,
                high_free, high, closed, kind, who, target, count, out_sync, out_group, out_rows, out_latency):
            return False
    return True


def _close(latency: int, until: int, latencies: int, stride: int, groups: int, adds: bool, scalars: Array,
           starts: Array, pages: Array, free: Array, rows: Array, high_of: Array, high_free: Array, high: Array,
           closed: Array, kind: Array, who: Array, target: Array, count: Array, out_sync: Array, out_group: Array,
           out_rows: Array, out_latency: Array) -> bool:
    panes, operations, outputs = scalars[PANES], count[0], count[1]
    at, is_last = pane_position(starts, panes, closed[latency]), latency == latencies - 1
    while at < panes and starts[at] < until:
        page = pages[at * latencies + latency]
        after = -1 if is_last else pages[at * latencies + latency + 1]
        goes = is_last or after >= 0
        key = scalars[NEXT]
        while page >= 0 and key < groups:
            cell, second = page * stride + key, high_of[page]
            counted = np.int64(rows[cell]) + (np.int64(high[second * stride + key]) * FULL if second >= 0 else 0)
            if counted:
                if outputs == out_sync.shape[0] or operations + 2 > kind.shape[0] or (after >= 0 and not _carry(
                        scalars, after, key, stride, high_of, high_free, high,
                        (counted + np.int64(rows[after * stride + key])) // FULL)):
                    scalars[NEXT], count[0], count[1] = key, operations, outputs
                    return False
                if adds:
                    kind[operations], who[operations], target[operations] = EMIT, cell, outputs
                    operations += 1
                if adds and goes:
                    kind[operations], who[operations] = CLEAR, cell
                    operations += 1
                out_sync[outputs], out_group[outputs], out_rows[outputs] = starts[at], key, counted
                out_latency[outputs] = latency
                outputs += 1
                if after >= 0:
                    rows[after * stride + key] = (counted + np.int64(rows[after * stride + key])) % FULL
                if goes:
                    rows[cell] = 0
                    if second >= 0:
                        high[second * stride + key] = 0
            key += 1
        scalars[NEXT] = 0
        if page >= 0 and goes:
            if high_of[page] >= 0:
                _give_back(scalars, HIGH_FREE, high_free, high_of[page])
                high_of[page] = -1
            _give_back(scalars, FREE, free, page)
        elif page >= 0:
            pages[at * latencies + latency + 1] = page
        pages[at * latencies + latency] = -1
        at += 1
        closed[latency] = starts[at - 1] + 1
    closed[latency] = max(closed[latency], until)
    if is_last and at > 0:
        for left in range(at, panes):
            starts[left - at] = starts[left]
            for number in range(latencies):
                pages[(left - at) * latencies + number] = pages[left * latencies + number]
        scalars[PANES] = panes - at
    count[0], count[1] = operations, outputs
    return True


def pane_position(starts: Array, panes: int, begin: int) -> int:
    """The first pane that does not begin before a time; most rows are of the newest pane."""
    if panes == 0 or starts[panes - 1] < begin:
        return panes
    first, stop = 0, panes - 1
    while first < stop:
        middle = (first + stop) >> 1
        if starts[middle] < begin:
            first = middle + 1
        else:
            stop = middle
    return first


def _insert(scalars: Array, starts: Array, pages: Array, latencies: int, at: int, begin: int) -> None:
    """Open a pane without pages."""
    for later in range(scalars[PANES], at, -1):
        starts[later] = starts[later - 1]
        for number in range(latencies):
            pages[later * latencies + number] = pages[(later - 1) * latencies + number]
    starts[at] = begin
    for number in range(latencies):
        pages[at * latencies + number] = -1
    scalars[PANES] += 1


def _carry(scalars: Array, page: int, key: int, stride: int, high_of: Array, high_free: Array, high: Array,
           more: Any) -> bool:
    """Add to the second number of a cell; False if there is no page for it."""
    if more == 0:
        return True
    if high_of[page] < 0:
        second = _unused(scalars, HIGH_USED, high_free)
        if second < 0:
            return False
        high_of[page] = second
    high[high_of[page] * stride + key] += more
    return True


def _unused(scalars: Array, used: int, free: Array) -> Any:
    """A page that is in no pane, or -1; `used` is the position of its two scalars."""
    if scalars[used + 1]:
        scalars[used + 1] -= 1
        return np.int64(free[scalars[used + 1]])
    if scalars[used] == free.shape[0]:
        return np.int64(-1)
    scalars[used] += 1
    return scalars[used] - 1


def _give_back(scalars: Array, position: int, free: Array, page: int) -> None:
    free[scalars[position]] = page
    scalars[position] += 1

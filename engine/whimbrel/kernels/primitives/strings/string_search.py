"""Search the bytes of all strings of a column in one scan."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

BLOCK = 64
"""Bytes that are looked at together: few enough that a hit costs little, enough for wide registers."""


def next_match(data: Array, text: Array, start: int, stop: int) -> int:
    """The first place from `start` on at which `text` stands in ``data[:stop]``; -1 if there is none.

    A block is looked into only if the first and the last byte of the text stand at the right distance somewhere in it.
    """
    size = text.shape[0]
    first, last = text[0], text[size - 1]
    end = stop - size + 1
    index = start
    while index < end:
        close = min(end, index + BLOCK)
        if index + BLOCK <= end:
            heads, tails = data[index:close], data[index + size - 1 : close + size - 1]
            found = False  # a number would not do: the loop over it takes ten times as long
            for byte in range(BLOCK):
                found |= (heads[byte] == first) & (tails[byte] == last)
            if not found:
                index = close
                continue
        while index < close:
            if data[index] == first and data[index + size - 1] == last:
                same = 1
                while same < size and data[index + same] == text[same]:
                    same += 1
                if same == size:
                    return index
            index += 1
    return -1


def find_text(data: Array, offsets: Array, text: Array, found: Array) -> None:
    """Write for each text of `data` how many characters stand before the first match in it; -1 where there is none."""
    rows = offsets.shape[0] - 1
    stop = offsets[rows]
    found[:] = -1
    row = 0
    index = next_match(data, text, offsets[0], stop)
    while index >= 0:
        while offsets[row + 1] <= index:
            row += 1
        if index + text.shape[0] <= offsets[row + 1]:
            before = 0
            for byte in range(offsets[row], index):
                before += (data[byte] & 0xC0) != 0x80  # bytes that continue a character do not count
            found[row] = before
            index = offsets[row + 1]
        else:  # it reaches into the next text, and so does all that begins here
            index = max(index + 1, offsets[row + 1] - text.shape[0] + 1)
        index = next_match(data, text, index, stop)


def find_edge(data: Array, offsets: Array, text: Array, at_end: bool, found: Array) -> None:
    """Write for each text of `data` whether `text` is what it begins or ends with."""
    size = text.shape[0]
    for row in range(found.shape[0]):
        index, same = offsets[row + 1] - size if at_end else offsets[row], 0
        if offsets[row + 1] - offsets[row] >= size:
            while same < size and data[index + same] == text[same]:
                same += 1
        found[row] = same == size


def count_matches(data: Array, offsets: Array, text: Array) -> int:
    """At most how many pieces :func:`split_text` makes."""
    stop = offsets[offsets.shape[0] - 1]
    count = offsets.shape[0] - 1
    if text.shape[0] == 1:
        inside, letter = data[offsets[0] : stop], text[0]
        for byte in range(inside.shape[0]):
            count += inside[byte] == letter
        return count
    index = next_match(data, text, offsets[0], stop)
    while index >= 0:
        count += 1
        index = next_match(data, text, index + text.shape[0], stop)
    return count


def split_text(
    data: Array, offsets: Array, there: Array, text: Array, pieces: Array, ends: Array, parent: Array
) -> int:
    """Write what stands between matches, end to end, where each piece ends, and of which text it is.

    Matches are taken from the left and do not overlap. `ends` and `parent` have one entry more than there may be
    pieces. Returns the number of pieces.
    """
    rows, size = offsets.shape[0] - 1, text.shape[0]
    stop = offsets[rows]
    done = written = 0
    if size == 1:
        for row in range(rows):
            if there.shape[0] and not there[row]:
                continue
            inside = data[offsets[row] : offsets[row + 1]]
            for byte in range(inside.shape[0]):  # words are too short to guess where they end: write, then keep or not
                over = inside[byte] == text[0]
                pieces[written] = inside[byte]
                ends[done], parent[done] = written, row
                written += not over
                done += over
            ends[done], parent[done] = written, row
            done += 1
        return done
    index = next_match(data, text, offsets[0], stop)
    for row in range(rows):
        begin, end = offsets[row], offsets[row + 1]
        if there.shape[0] and not there[row]:
            begin = end
        if 0 <= index < begin:
            index = next_match(data, text, begin, stop)
        while index >= 0 and index + size <= end and begin <= index:
            for byte in range(begin, index):
                pieces[written] = data[byte]
                written += 1
            ends[done], parent[done] = written, row
            done += 1
            begin = index + size
            index = next_match(data, text, begin, stop)
        if 0 <= index < end:
            index = next_match(data, text, end, stop)
        if there.shape[0] and not there[row]:
            continue
        for byte in range(begin, end):
            pieces[written] = data[byte]
            written += 1
        ends[done], parent[done] = written, row
        done += 1
    return done

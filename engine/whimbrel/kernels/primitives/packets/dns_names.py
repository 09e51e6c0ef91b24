"""Read the names of DNS questions."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

NAME_BYTES = 1024
"""Most bytes of the text of a name: 255 bytes, each of which may need four characters."""
_MAX_BYTES = 255
_DOT, _BACKSLASH, _ZERO = 46, 92, 48


def read_names(data: Array, messages: Array, ends: Array, text: Array, offsets: Array, after: Array) -> None:
    r"""Write the name of the first question of each message, as in zone files: ``\046`` is a dot within a label.

    Parameters
    ----------
    messages, ends : arrays
        Where each message begins, and after its last byte.
    text, offsets : arrays
        The names, and where each one ends. A name that is cut or malformed is empty.
    after : array
        Where the type of the question is; -1 for a cut or malformed name.
    """
    used = 0
    for row in range(messages.shape[0]):
        begin, end = int(messages[row]), int(ends[row])
        at, first, total, jumped, complete = begin + 12, used, 0, False, False
        after[row] = -1
        while at < end:
            size = int(data[at])
            if size == 0:
                complete = True
                if not jumped:
                    after[row] = at + 1
                break
            if size >= 192:
                to = begin + ((size & 63) << 8) + int(data[at + 1]) if at + 1 < end else end
                if not jumped:
                    after[row] = at + 2
                jumped = True
                if to >= at:  # only names before: so it ends
                    break
                at = to
                continue
            total += size + 1
            if size > 63 or at + 1 + size > end or total > _MAX_BYTES:
                break
            if used > first:
                text[used] = _DOT
                used += 1
            for byte in range(at + 1, at + 1 + size):
                letter = int(data[byte])
                if 33 <= letter <= 126 and letter not in (_DOT, _BACKSLASH):
                    text[used] = letter
                    used += 1
                else:
                    text[used], text[used + 1] = _BACKSLASH, _ZERO + letter // 100
                    text[used + 2], text[used + 3] = _ZERO + letter // 10 % 10, _ZERO + letter % 10
                    used += 4
            at += 1 + size
        if not complete:
            used, after[row] = first, -1
        elif used == first:  # the root
            text[used] = _DOT
            used += 1
        offsets[row + 1] = used

"""Compare a picture with the one that the reader saw before."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

LINGER_S: Final = 2.0
"""So long a change stays marked: marks that come and go with every redraw would only flicker."""

_MAX_PICTURES: Final = 8


@dataclass(slots=True)
class ChangeTracker:
    """The pictures that the reader has seen lately.

    What is compared is not the last picture but the one of two seconds ago: so a mark that changes all the time is
    marked all the time. Where nobody looked for a while, it is the last picture that was seen.
    """

    _seen: deque[tuple[float, Any]] = field(default_factory=deque)

    def record(self, picture: Any, at_s: float) -> None:
        """The reader sees this picture."""
        if self._seen and at_s - self._seen[-1][0] < LINGER_S / _MAX_PICTURES:
            at_s, _ = self._seen.pop()
        self._seen.append((at_s, picture))
        while len(self._seen) > 1 and self._seen[1][0] <= at_s - LINGER_S:
            self._seen.popleft()

    def before(self, at_s: float) -> Any:
        """The picture to compare with the current one; None before the first."""
        old = [picture for seen_s, picture in self._seen if seen_s <= at_s - LINGER_S]
        return old[-1] if old else self._seen[0][1] if self._seen else None

    def forget(self) -> None:
        self._seen.clear()


def changed_points(x: NDArray[np.float64], y: NDArray[np.float64], x_before: NDArray[np.float64],
                   y_before: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which points were there before with another value. Both ``x`` increase.

    >>> changed_points(*(np.array(row, float) for row in ([1, 2, 3], [5, 6, 7], [1, 2], [5, 4]))).tolist()
    [False, True, False]
    """
    if not len(x_before):
        return np.zeros(len(x), np.bool_)
    at = np.minimum(np.searchsorted(x_before, x), len(x_before) - 1)
    there: NDArray[np.bool_] = (x_before[at] == x) & (y_before[at] != y)
    return there

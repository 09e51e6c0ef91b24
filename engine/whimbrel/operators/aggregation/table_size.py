"""Choose the size of an evicting table from what it evicts."""

from __future__ import annotations

FIRST_SLOTS = 4096
MAX_SLOTS = 1 << 16
"""What a table of a few columns needs is then a few megabytes, which the second cache holds in part."""
MAX_FRACTION = 0.8
"""Rows that a table leaves of rows, above which it costs more than it saves."""
_FEW = 0.05
_GAIN = 0.85
ROWS_PER_SLOT = 8
FIRST_PAUSE_ROWS = 1 << 20
_LONGEST_PAUSE_ROWS = 1 << 25


class TableSize:
    """Grow a table while more slots leave fewer rows; pause it while it leaves most of them.

    Attributes
    ----------
    slots : int
        Slots that the table should have now.
    pause_rows : int
        Rows that pass without the table from now on.
    fraction : float
        Rows that left the table of rows that came, when it was last measured.
    """

    def __init__(self, slots: int = FIRST_SLOTS, max_slots: int = MAX_SLOTS) -> None:
        self.slots, self.max_slots = slots, max(slots, max_slots)
        self.pause_rows = 0
        self.fraction = 0.0
        self.rows = self.left = 0
        self.total_rows = self.total_left = 0
        self._before = 2.0  # the fraction with half the slots
        self._grows = True
        self._next_pause = FIRST_PAUSE_ROWS

    def fork(self) -> TableSize:
        clone = TableSize(self.slots, self.max_slots)
        clone.__dict__.update(self.__dict__)
        return clone

    @property
    def rows_to_measure(self) -> int:
        """Rows until what leaves the table is measured next."""
        return max(ROWS_PER_SLOT * self.slots - self.rows, 1)

    def passed(self, rows: int) -> None:
        """Note rows that passed without the table."""
        self.total_rows += rows
        self.total_left += rows
        self.pause_rows = max(self.pause_rows - rows, 0)

    def measured(self, rows: int, left: int) -> None:
        """Note rows that came and rows that left; choose the number of slots, or a pause, when enough have come."""
        self.total_rows += rows
        self.total_left += left
        self.rows += rows
        self.left += left
        if self.rows < ROWS_PER_SLOT * self.slots:
            return
        self.fraction, self.rows, self.left = self.left / self.rows, 0, 0
        if self._grows and self.fraction > _GAIN * self._before:
            self._grows, self.slots = False, max(self.slots // 2, 1)  # more slots did not help: back
            if self._before > MAX_FRACTION:
                self._step_aside()
            return
        if self._grows and self.fraction > _FEW and self.slots < self.max_slots:
            self._before, self.slots = self.fraction, 2 * self.slots
            return
        if self.fraction > MAX_FRACTION:
            self._step_aside()
        else:
            self._next_pause = FIRST_PAUSE_ROWS

    def _step_aside(self) -> None:
        self.pause_rows, self._grows, self._before = self._next_pause, True, 2.0
        self._next_pause = min(2 * self._next_pause, _LONGEST_PAUSE_ROWS)

"""Guaranteed intervals: valid for any data within known bounds of all blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from whimbrel.aggregates import Mean
from whimbrel.aggregates.mean import HUGE_UNIT
from whimbrel.kernels.primitives.sampling.window_blocks import DRAWN, LATER, LEFT
from whimbrel.progressive.intervals.betting import RatioSample, lower_ends
from whimbrel.progressive.intervals.block_additions import Added
from whimbrel.progressive.plan.query_split import SplitQuery
from whimbrel.progressive.sampling.block_bounds import BlockBounds, Ends
from whimbrel.progressive.sampling.block_scan import ScanPosition
from whimbrel.progressive.sampling.read_blocks import Read

Array = np.ndarray[Any, Any]

_WRAP = 2.0**64
_MAX_AT_ONCE = 1 << 22
"""The largest number of pairs of block and result row to compute at once."""
_ROUNDING = 2.0**-52


class _Blocks(NamedTuple):
    """Blocks of some result rows, by block of the scan, or by draw, and row.

    Attributes
    ----------
    sizes : numpy.ndarray of float64
        Rows of a block that may be in the window; 0 if none.
    whole : numpy.ndarray of bool
        Whether all rows of the block belong to the result row.
    phase, unread : numpy.ndarray of bool
        Blocks of this phase, and unread blocks, that may hold rows of the window.
    order : numpy.ndarray of int64
        For each block drawn in this phase, its position among the drawn blocks of the window.
    draws, units : numpy.ndarray of int64
        By row, the number of blocks of the window that were drawn in this phase, and of all its blocks in the phase.
    """

    sizes: Array
    whole: Array
    phase: Array
    unread: Array
    order: Array
    draws: Array
    units: Array


class Guaranteed:
    """Guaranteed intervals of the values of a sample.

    Parameters
    ----------
    bounds : BlockBounds
    split : SplitQuery
    position : ScanPosition
        Of the scan.
    read : Read
        The blocks of each window.
    window_times : tuple of numpy.ndarray
        The first and the last time of an event of each window.
    fields : sequence of numpy.ndarray
        Merged states, by result row.
    added : Added or None
        What the blocks of this phase added to these; None if that was too much to keep.
    """

    def __init__(self, bounds: BlockBounds, split: SplitQuery, position: ScanPosition, read: Read,
                 window_times: tuple[Array, Array], fields: Sequence[Array], added: Added | None) -> None:
        self.bounds = bounds
        self._values, self._keeps_rows = split.values, split.keeps_rows
        self._position, self._read, self._window_times = position, read, window_times
        self._fields, self._added = fields, added

    def ends(self, alpha: float) -> tuple[Array, Array]:
        """Confidence sequences of level 1 - alpha: low and high ends by value and row; infinite: no bound."""
        count, blocks_of_scan = len(self._read.window), self._position.scan.blocks
        low, high = np.full((2, len(self._values.names), count), [[[-np.inf]], [[np.inf]]])
        step = max(1, _MAX_AT_ONCE // max(1, len(blocks_of_scan)))
        for begin in range(0, count, step):
            rows = np.arange(begin, min(begin + step, count))
            blocks = self._blocks(rows)
            for value, ends in self.bounds.ends.items():
                of_mean = isinstance(self._values.made_of[value], Mean)
                found = (self._mean if of_mean else self._sum)(value, rows, blocks, ends, alpha / 2)
                low[value, rows], high[value, rows] = found
        return low, high

    @property
    def notes(self) -> list[str]:
        """The kind of the intervals, and why some are missing."""
        bounds = self.bounds
        kind = "guaranteed intervals: they hold for any values within the known bounds of all blocks"
        if bounds.not_nan:
            kind += f", if no value of {', '.join(bounds.not_nan)} is NaN (file statistics do not tell)"
        reasons = [f"{', '.join(names)} without a guaranteed interval: {reason}" for reason, names in bounds.unknown]
        if self._added is None:
            reasons.append("too many groups to keep what each block added: intervals allow for all unread rows")
        return [kind] * bool(bounds.ends) + reasons

    def _blocks(self, rows: Array) -> _Blocks:
        """The blocks of these result rows."""
        position, blocks = self._position, self._position.scan.blocks
        which = self._read.window[rows]
        first, last = (times[which] for times in self._window_times)
        there = (blocks.earliest[:, None] <= last) & (blocks.latest[:, None] >= first)
        inside = (blocks.earliest[:, None] >= first) & (blocks.latest[:, None] <= last)
        kinds = position.kinds[:, None]
        drawn = there[position.phase[: position.drawn]]
        order = np.cumsum(drawn, axis=0) - 1
        unread = there & ((kinds == LEFT) | (kinds == LATER))
        phase = there & ((kinds == LEFT) | (kinds == DRAWN))
        draws = np.where(self._read.sampled[which], drawn.sum(axis=0), 0)
        return _Blocks(np.where(there, blocks.rows[:, None].astype(np.float64), 0.0),
                       inside & self._keeps_rows, phase, unread, order, draws, phase.sum(axis=0))

    def _by_draw(self, fields: Array, rows: Array, blocks: _Blocks) -> Array:
        """The weighted sum of the fields that each draw added, by draw and row."""
        added = self._added
        found = np.zeros((int(blocks.draws.max(initial=0)), len(rows)))
        if added is not None and len(found):
            at = added.groups - rows[0]
            mine = np.flatnonzero((at >= 0) & (at < len(rows)))
            mine = mine[blocks.draws[at[mine]] > 0]
            numbers = fields @ added.fields[:, mine]
            np.add.at(found, (blocks.order[added.before[mine], at[mine]], at[mine]), numbers)
        return found

    def _parts(self, value: int) -> tuple[Array, Array]:
        """The weights of the fields in the sum of a value, and in its number of rows."""
        values, own = self._values, self._values.own[value]
        sums, rows = np.zeros((2, len(self._fields)))
        width = own.stop - own.start
        if isinstance(values.made_of[value], Mean):  # small part, rows, large part in its own unit
            large = 1.0 if values.whole_inputs[value] else HUGE_UNIT
            sums[own], rows[own] = (1.0, 0.0, large), (0.0, 1.0, 0.0)
        else:
            sums[own] = (1.0, _WRAP)[:width]
        return sums, rows

    def _sum(self, value: int, rows: Array, blocks: _Blocks, ends: Ends, alpha: float) -> tuple[Array, Array]:
        fields, _ = self._parts(value)
        low, high = (end[:, None] for end in ends[:2])
        full = blocks.whole & ends.full[:, None]
        minimum = blocks.sizes * np.where(full, low, np.minimum(low, 0.0))
        maximum = blocks.sizes * np.where(full, high, np.maximum(high, 0.0))
        so_far = self._so_far(fields, rows)
        certain_low, certain_high = (so_far + np.where(blocks.unread, each, 0.0).sum(axis=0) for each in (minimum,
                                                                                                          maximum))
        # Relative to the middle of what a block may add, if all its rows add: a column may grow with time.
        middle = np.where(full, (minimum + maximum) / 2, 0.0)
        added = self._by_draw(fields, rows, blocks)
        adds = added - self._of_draws(middle, blocks)
        size = np.where(blocks.phase, blocks.sizes, 0.0).sum(axis=0)
        shares = blocks.sizes / np.maximum(size, 1.0)
        drawn_shares = self._of_draws(shares, blocks)
        known = so_far - added.sum(axis=0) + np.where(blocks.phase, middle, 0.0).sum(axis=0)
        nothing = np.zeros(len(rows))

        def lower(sign: float, min_adds: Array, max_adds: Array, certain: tuple[Array, Array]) -> Array:
            drawn = RatioSample(sign * adds, drawn_shares, blocks.draws, blocks.units, nothing, nothing,
                                _minimum(min_adds, blocks.phase), _minimum(shares, blocks.phase),
                                -_minimum(-shares, blocks.phase), np.where(blocks.phase, max_adds, 0.0).sum(axis=0))
            low, high = certain
            return lower_ends(drawn, low - sign * known, high - sign * known, alpha)

        found_low = known + lower(1.0, minimum - middle, maximum - middle, (certain_low, certain_high))
        found_high = known - lower(-1.0, middle - maximum, middle - minimum, (-certain_high, -certain_low))
        usable = (blocks.draws > 0) & (self._added is not None)
        off = self._rounding(value, np.maximum(np.abs(certain_low), np.abs(certain_high)))
        return (np.where(usable, np.maximum(found_low, certain_low), certain_low) - off,
                np.where(usable, np.minimum(found_high, certain_high), certain_high) + off)

    def _mean(self, value: int, rows: Array, blocks: _Blocks, ends: Ends, alpha: float) -> tuple[Array, Array]:
        full = (blocks.whole & ends.full[:, None]) | ~blocks.unread
        fields, of_rows = self._parts(value)
        so_far, count = self._so_far(fields, rows), self._so_far(of_rows, rows)
        if full.all():  # the number of rows is known: a sum
            all_rows = np.maximum(count + np.where(blocks.unread, blocks.sizes, 0.0).sum(axis=0), 1.0)
            low, high = self._sum(value, rows, blocks, ends, alpha)
            return low / all_rows, high / all_rows
        adds, counts = self._by_draw(fields, rows, blocks), self._by_draw(of_rows, rows, blocks)
        left = np.where(blocks.unread, blocks.sizes, 0.0).sum(axis=0)
        low, high = (np.broadcast_to(end[:, None], blocks.sizes.shape) for end in ends[:2])
        minimum, maximum = _minimum(low, blocks.unread), -_minimum(-high, blocks.unread)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = so_far / count
            certain_low = np.where(left > 0, np.minimum(mean, (so_far + left * minimum) / (count + left)), mean)
            certain_high = np.where(left > 0, np.maximum(mean, (so_far + left * maximum) / (count + left)), mean)
        # Stakes must not depend on later draws: these are ends of all blocks of the phase.
        minimum, maximum = _minimum(low, blocks.phase), -_minimum(-high, blocks.phase)
        largest = -_minimum(-blocks.sizes, blocks.phase)
        known, known_count = so_far - adds.sum(axis=0), count - counts.sum(axis=0)
        nothing = np.zeros(len(rows))

        def lower(sign: float, end: Array, certain: tuple[Array, Array]) -> Array:
            """The lower end of the distance between the mean and a bound of the numbers."""
            drawn = RatioSample(sign * (adds - end * counts), counts, blocks.draws, blocks.units,
                                sign * (known - end * known_count), known_count, nothing, nothing, largest,
                                maximum - minimum)
            low, high = certain
            return lower_ends(drawn, sign * (low - end), sign * (high - end), alpha)

        found_low = minimum + lower(1.0, minimum, (certain_low, certain_high))
        found_high = maximum - lower(-1.0, maximum, (certain_high, certain_low))
        usable = (blocks.draws > 0) & (self._added is not None)
        off = self._rounding(value, np.maximum(np.abs(certain_low), np.abs(certain_high)))
        return (np.where(usable, np.maximum(found_low, certain_low), certain_low) - off,
                np.where(usable, np.minimum(found_high, certain_high), certain_high) + off)

    def _rounding(self, value: int, maximum: Array) -> Array:
        """The largest rounding difference from another order of addition."""
        counts = self._values.counts[value]
        return 0.0 * maximum if counts else _ROUNDING * float(self._position.scan.blocks.rows.sum()) * maximum

    def _so_far(self, fields: Array, rows: Array) -> Array:
        """The weighted sum of the merged fields."""
        found = np.zeros(len(rows))
        for number, field in zip(fields.tolist(), self._fields, strict=True):
            if number:
                found += number * np.asarray(field[rows], np.float64)
        return found

    def _of_draws(self, of_blocks: Array, blocks: _Blocks) -> Array:
        """Numbers of blocks, by draw and row."""
        found = np.zeros((int(blocks.draws.max(initial=0)), of_blocks.shape[1]))
        phase = self._position.phase[: self._position.drawn]
        draw, row = np.nonzero((blocks.sizes[phase] > 0) & (blocks.draws > 0))
        found[blocks.order[draw, row], row] = of_blocks[phase[draw], row]
        return found


def _minimum(numbers: Array, where: Array) -> Array:
    """By row, the smallest number of these blocks; 0 for none."""
    return np.where(where.any(axis=0), np.where(where, numbers, np.inf).min(axis=0), 0.0)

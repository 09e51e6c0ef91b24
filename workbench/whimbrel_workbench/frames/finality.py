"""Stages of a value: provisional, early or settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OPEN: Final = 0


@dataclass(frozen=True, slots=True)
class Stages:
    """What the stages of a run's values are called.

    A stage is a number. Stage 0 is provisional, stage 1 is settled by the first latency, and so on. The last stage is
    final.

    Parameters
    ----------
    bands : tuple of str
        The latencies, the earliest first; a single nameless one when the query has no bands.

    Examples
    --------
    >>> stages = Stages(("15m", "2h"))
    >>> [stages.label(stage) for stage in (0, 1, 2)]
    ['provisional', 'early result after 15m', 'settled after 2h']
    """

    bands: tuple[str, ...] = ("",)

    @property
    def final(self) -> int:
        return len(self.bands)

    def label(self, stage: int) -> str:
        if stage == OPEN:
            return "provisional"
        name = self.bands[stage - 1]
        if stage == self.final:
            return f"settled after {name}" if name else "settled"
        return f"early result after {name}"

    def fullness(self, stage: int) -> float:
        """How full a mark is painted: 0 hollow, 1 solid, in between for early results.

        >>> [Stages(("1s", "1m", "1h")).fullness(stage) for stage in (0, 1, 2, 3)]
        [0.0, 0.25, 0.65, 1.0]
        """
        if stage in (OPEN, self.final):
            return float(stage == self.final)
        return self._between(stage, 0.25, 0.65)

    def strength(self, stage: int) -> float:
        """The opacity of a line: early results are lighter.

        >>> [Stages(("1s", "1m", "1h")).strength(stage) for stage in (0, 1, 2, 3)]
        [0.9, 0.3, 0.7, 1.0]
        """
        if stage in (OPEN, self.final):
            return 1.0 if stage == self.final else 0.9
        return self._between(stage, 0.3, 0.7)

    def steps_to_final(self, stage: int) -> int:
        """How many early stages follow before the final one; at most two are distinguished.

        >>> [Stages(("1s", "1m", "1h", "1d")).steps_to_final(stage) for stage in (1, 2, 3)]
        [2, 1, 0]
        """
        return min(max(self.final - 1 - stage, 0), 2)

    def _between(self, stage: int, first: float, last: float) -> float:
        """Interpolate from the first early stage to the last; a single one is in the middle."""
        return first + (last - first) * ((stage - 1) / (self.final - 2) if self.final > 2 else 0.5)


ONE_BAND: Final = Stages()

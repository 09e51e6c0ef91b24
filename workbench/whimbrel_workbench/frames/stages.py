"""How final a value is: open, early by one of several latencies, or settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OPEN: Final = 0


@dataclass(frozen=True, slots=True)
class Stages:
    """What the stages of a run's values are called.

    A stage is a number: 0 may still change with every row, 1 is what the first latency has settled, and so on; the
    last is final.

    Parameters
    ----------
    bands : tuple of str
        The latencies, the earliest first; a single nameless one when the query has no bands.

    Examples
    --------
    >>> stages = Stages(("15m", "2h"))
    >>> [stages.words(stage) for stage in (0, 1, 2)]
    ['may still change', 'early: after 15m', 'settled after 2h']
    """

    bands: tuple[str, ...] = ("",)

    @property
    def final(self) -> int:
        return len(self.bands)

    def words(self, stage: int) -> str:
        if stage == OPEN:
            return "may still change"
        name = self.bands[stage - 1]
        if stage == self.final:
            return f"settled after {name}" if name else "settled"
        return f"early: after {name}"

    def fullness(self, stage: int) -> float:
        """How full a mark is painted: 0 hollow, 1 solid, in between for early answers.

        >>> [Stages(("1s", "1m", "1h")).fullness(stage) for stage in (0, 1, 2, 3)]
        [0.0, 0.3, 0.6, 1.0]
        """
        if stage in (OPEN, self.final):
            return float(stage == self.final)
        return 0.6 * stage / (self.final - 1) if self.final > 2 else 0.45


ONE_BAND: Final = Stages()

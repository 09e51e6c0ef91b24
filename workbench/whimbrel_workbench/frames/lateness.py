"""Histogram of lateness, with the cost of each reorder latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from whimbrel.clock import TickUnit, show_ticks

MAX_STEPS: Final = 12
"""Steps of a histogram that are still read one by one."""


@dataclass(frozen=True, slots=True)
class LateStep:
    """A latency, and the rows that are later than by the one before, up to it.

    Parameters
    ----------
    ticks : int
    label : str
    rows, fraction : int, float
        Rows on this step, and what part they are of all.
    lost, fraction_lost : int, float
        Rows that are later, which this latency would lose.
    changed : str
        How many results would be others; empty where nobody knows.
    """

    ticks: int
    label: str
    rows: int
    fraction: float
    lost: int
    fraction_lost: float
    changed: str = ""


@dataclass(frozen=True, slots=True)
class SourceLateness:
    """The lateness of one source.

    Parameters
    ----------
    source : str
    of : str
        What was measured.
    rows : int
    steps : tuple of LateStep
        In ascending order; after the last one nothing is lost.
    """

    source: str
    of: str
    rows: int
    steps: tuple[LateStep, ...]


def late_rows(source: str, of: str, late_by: Mapping[int, int], unit: TickUnit, asked: Sequence[int] = (),
              changed: Mapping[int, str] | None = None) -> SourceLateness:
    """The histogram of one source.

    Parameters
    ----------
    late_by : mapping of int to int
        Rows by how many ticks they were late at most, in growing steps.
    asked : sequence of int
        Latencies that are asked for now, which stay visible among the steps.
    changed : mapping of int to str
        Words on the results that a latency changes.

    Examples
    --------
    >>> for step in late_rows("log", "the log", {0: 90, 5: 6, 60: 4}, "s").steps:
    ...     print(step.label, step.rows, step.lost, step.fraction_lost)
    0 90 10 0.1
    5s 6 4 0.04
    1m 4 0 0.0
    """
    rows = sum(late_by.values())
    ends = _chosen(sorted({0, *late_by}), asked)
    steps, below = [], 0
    for end in ends:
        upto = sum(count for late, count in late_by.items() if late <= end)
        fraction, fraction_lost = ((upto - below) / rows, (rows - upto) / rows) if rows else (0.0, 0.0)
        steps.append(LateStep(end, show_ticks(end, unit), upto - below, fraction, rows - upto, fraction_lost,
                              (changed or {}).get(end, "")))
        below = upto
    return SourceLateness(source, of, rows, tuple(steps))


def _chosen(ends: list[int], asked: Sequence[int]) -> list[int]:
    """At most so many of the steps, evenly, the first and the last among them, and those that are asked for."""
    if len(ends) > MAX_STEPS:
        ends = [ends[round(place * (len(ends) - 1) / (MAX_STEPS - 1))] for place in range(MAX_STEPS)]
    return sorted({*ends, *asked})

"""Overload signal from a source to the windows after it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)
class OverloadSignal:
    """A wider hop, for as long as too many rows wait.

    The reader of the source sets it. The adaptive window counts what it leaves out.

    Attributes
    ----------
    hop : int
        Ticks from one window to the next.
    active : bool
        Whether too many rows wait now.
    left_out : int
        Windows that are not answered.
    """

    hop: int
    active: bool = False
    left_out: int = 0

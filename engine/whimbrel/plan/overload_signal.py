"""What a source asks of the windows behind it while its rows come faster than they are taken."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)
class OverloadSignal:
    """A wider hop, for as long as too many rows wait.

    Whoever reads the source says when; whoever widens windows counts what that leaves out.

    Attributes
    ----------
    hop : int
        Ticks from one window to the next.
    wanted : bool
        Whether too many rows wait now.
    left_out : int
        Windows that are not answered.
    """

    hop: int
    wanted: bool = False
    left_out: int = 0

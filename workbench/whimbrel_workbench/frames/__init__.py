"""View data: immutable, decimated, ready to draw, and free of any plotting library."""

from __future__ import annotations

from whimbrel_workbench.frames.bars import Bars
from whimbrel_workbench.frames.columns import Columns
from whimbrel_workbench.frames.figures import Figures
from whimbrel_workbench.frames.framer import Frame, Framer, Options
from whimbrel_workbench.frames.lines import Line, Lines
from whimbrel_workbench.frames.playback import Playback
from whimbrel_workbench.frames.rows import Rows
from whimbrel_workbench.frames.status import Failure, Status

__all__ = ["Bars", "Columns", "Failure", "Figures", "Frame", "Framer", "Line", "Lines", "Options", "Playback",
           "Rows", "Status"]

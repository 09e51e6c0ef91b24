"""View data: immutable, decimated and independent of plotting libraries."""

from __future__ import annotations

from whimbrel_workbench.frames.bars import Bar, Bars
from whimbrel_workbench.frames.big_numbers import BigNumber, BigNumbers
from whimbrel_workbench.frames.columns import ColumnRoles
from whimbrel_workbench.frames.estimate_quality import Bound, PinnedClaim, Quality
from whimbrel_workbench.frames.finality import Stages
from whimbrel_workbench.frames.frame_builder import Frame, FrameBuilder, Picture
from whimbrel_workbench.frames.heat import Heat
from whimbrel_workbench.frames.lines import Line, Lines
from whimbrel_workbench.frames.options import Options
from whimbrel_workbench.frames.playback import Playback
from whimbrel_workbench.frames.result import Result
from whimbrel_workbench.frames.scatter import Scatter
from whimbrel_workbench.frames.scope import ScopeFrame
from whimbrel_workbench.frames.spectrogram import Spectrogram
from whimbrel_workbench.frames.status import Failure, Status
from whimbrel_workbench.frames.style import PLAIN, Style
from whimbrel_workbench.frames.table import TableFrame, TableRow
from whimbrel_workbench.frames.trigger import TriggerFrame

__all__ = [
    "PLAIN",
    "Bar",
    "Bars",
    "BigNumber",
    "BigNumbers",
    "Bound",
    "ColumnRoles",
    "Failure",
    "Frame",
    "FrameBuilder",
    "Heat",
    "Line",
    "Lines",
    "Options",
    "Picture",
    "PinnedClaim",
    "Playback",
    "Quality",
    "Result",
    "Scatter",
    "ScopeFrame",
    "Spectrogram",
    "Stages",
    "Status",
    "Style",
    "TableFrame",
    "TableRow",
    "TriggerFrame",
]

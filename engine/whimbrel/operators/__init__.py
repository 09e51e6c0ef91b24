"""What happens to streams: one operator per file, description, movement and method together. Generated."""

from whimbrel.operators.aggregate import GroupAggregate, aggregate
from whimbrel.operators.alter_lifetime import AlterLifetime, Moment, alter_lifetime
from whimbrel.operators.asof_join import AsofJoin, Direction, asof_join
from whimbrel.operators.assume import Assume, assume
from whimbrel.operators.band import Band
from whimbrel.operators.chop import Chop, chop
from whimbrel.operators.clip import Clip, clip
from whimbrel.operators.clip_duration import ClipDuration, clip_duration
from whimbrel.operators.coalesce import Coalesce
from whimbrel.operators.detect import Beginning, Detect, Outputs, Simultaneous, detect
from whimbrel.operators.distinct import distinct
from whimbrel.operators.drop import drop
from whimbrel.operators.edges import Edges, edges
from whimbrel.operators.extend import Extend, extend
from whimbrel.operators.fill import Fill
from whimbrel.operators.finer_unit import FinerUnit
from whimbrel.operators.finish import Finish
from whimbrel.operators.hops import Hops
from whimbrel.operators.ingest import Ingest
from whimbrel.operators.join import How, Join, cross_join, join
from whimbrel.operators.joined_row import On
from whimbrel.operators.late_rows import LateRows
from whimbrel.operators.lifetime import Span
from whimbrel.operators.on_beat import OnBeat
from whimbrel.operators.pattern import Pattern, all_at_once, event, sequence
from whimbrel.operators.pivot import Pivot, pivot
from whimbrel.operators.point_at_end import PointAtEnd, point_at_end
from whimbrel.operators.quantize import Quantize, progressive_window, quantize
from whimbrel.operators.rename import rename
from whimbrel.operators.results import Results, WindowBound
from whimbrel.operators.revise import Revise
from whimbrel.operators.sample import Sample, sample
from whimbrel.operators.select import Select, select, with_columns
from whimbrel.operators.select_many import ItemType, SelectMany, select_many
from whimbrel.operators.semi_join import SemiJoin, anti_join, semi_join, where_exists, where_not_exists
from whimbrel.operators.session_aggregate import SessionAggregate
from whimbrel.operators.session_window import Emit, SessionWindow, session_window
from whimbrel.operators.set_duration import SetDuration, set_duration
from whimbrel.operators.shift import Shift, shift
from whimbrel.operators.sort import Sort
from whimbrel.operators.stitch import Stitch, stitch
from whimbrel.operators.top_k import TopK, top_k
from whimbrel.operators.union import Union, union
from whimbrel.operators.unpivot import Unpivot, unpivot
from whimbrel.operators.where import Where, where
from whimbrel.operators.widening_window import WideningWindow
from whimbrel.operators.window import (
    HoppingWindow,
    Label,
    SlidingWindow,
    hopping_window,
    sliding_window,
    tumbling_window,
)

__all__ = [
    "AlterLifetime", "AsofJoin", "Assume", "Band", "Beginning", "Chop", "Clip", "ClipDuration", "Coalesce", "Detect",
    "Direction", "Edges", "Emit", "Extend", "Fill", "FinerUnit", "Finish", "GroupAggregate", "HoppingWindow", "Hops",
    "How", "Ingest", "ItemType", "Join", "Label", "LateRows", "Moment", "On", "OnBeat", "Outputs", "Pattern", "Pivot",
    "PointAtEnd", "Quantize", "Results", "Revise", "Sample", "Select", "SelectMany", "SemiJoin", "SessionAggregate",
    "SessionWindow", "SetDuration", "Shift", "Simultaneous", "SlidingWindow", "Sort", "Span", "Stitch", "TopK", "Union",
    "Unpivot", "Where", "WideningWindow", "WindowBound", "aggregate", "all_at_once", "alter_lifetime", "anti_join",
    "asof_join", "assume", "chop", "clip", "clip_duration", "cross_join", "detect", "distinct", "drop", "edges",
    "event", "extend", "hopping_window", "join", "pivot", "point_at_end", "progressive_window", "quantize", "rename",
    "sample", "select", "select_many", "semi_join", "sequence", "session_window", "set_duration", "shift",
    "sliding_window", "stitch", "top_k", "tumbling_window", "union", "unpivot", "where", "where_exists",
    "where_not_exists", "with_columns",
]

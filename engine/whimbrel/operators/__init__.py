"""Operators of plans, one per file. Generated."""

from whimbrel.operators.aggregation.aggregate import GroupAggregate, aggregate
from whimbrel.operators.aggregation.distinct import distinct
from whimbrel.operators.aggregation.epoch_aggregate import EpochAggregate, epoch_aggregate
from whimbrel.operators.aggregation.evicting_aggregate import EvictingAggregate
from whimbrel.operators.aggregation.fill_windows import Fill
from whimbrel.operators.aggregation.finalize import Finish
from whimbrel.operators.aggregation.hopping_aggregate import HoppingAggregate
from whimbrel.operators.aggregation.latency_aggregate import LatencyAggregate
from whimbrel.operators.aggregation.one_latency import OneLatency
from whimbrel.operators.aggregation.pivot import Pivot, pivot
from whimbrel.operators.aggregation.result_expressions import Results, Running, WindowBound
from whimbrel.operators.aggregation.running_aggregate import RunningAggregate
from whimbrel.operators.aggregation.session_aggregate import SessionAggregate
from whimbrel.operators.aggregation.top_k import TopK, top_k
from whimbrel.operators.joins.asof_join import AsofJoin, Direction, Ties, asof_join
from whimbrel.operators.joins.clip import Clip, clip_at
from whimbrel.operators.joins.join import How, Join, cross_join, join
from whimbrel.operators.joins.join_schema import On
from whimbrel.operators.joins.semi_join import SemiJoin, anti_join, semi_join
from whimbrel.operators.lifetimes.alter_lifetime import AlterLifetime, Moment, alter_lifetime
from whimbrel.operators.lifetimes.chop import Chop, chop
from whimbrel.operators.lifetimes.clip_duration import ClipDuration, clip_duration
from whimbrel.operators.lifetimes.coalesce import Coalesce
from whimbrel.operators.lifetimes.edges import Edges, edges
from whimbrel.operators.lifetimes.extend import Extend, extend
from whimbrel.operators.lifetimes.lifetime import Span
from whimbrel.operators.lifetimes.point_at_end import PointAtEnd, point_at_end
from whimbrel.operators.lifetimes.resample import Resample, SampleMethod
from whimbrel.operators.lifetimes.retime import Retime, retime
from whimbrel.operators.lifetimes.set_duration import SetDuration, set_duration
from whimbrel.operators.lifetimes.shift import Shift, shift
from whimbrel.operators.lifetimes.stitch import Stitch, stitch
from whimbrel.operators.patterns.absence import Absence, absent
from whimbrel.operators.patterns.detect import Beginning, Detect, Outputs, Simultaneous, detect
from whimbrel.operators.patterns.pattern import Pattern, event, sequence, simultaneous
from whimbrel.operators.rows.align_samples import AlignSamples
from whimbrel.operators.rows.assume import Assume, assume
from whimbrel.operators.rows.assume_order import AssumeOrder
from whimbrel.operators.rows.between import Between
from whimbrel.operators.rows.block_samples import BlockSamples
from whimbrel.operators.rows.changelog import Changelog
from whimbrel.operators.rows.distinct_within import DistinctWithin, distinct_within
from whimbrel.operators.rows.drop import drop
from whimbrel.operators.rows.explode import Explode, ItemType, explode
from whimbrel.operators.rows.finer_unit import FinerUnit
from whimbrel.operators.rows.ingest import Ingest
from whimbrel.operators.rows.late_rows import LateRows
from whimbrel.operators.rows.lateness_band import LatenessBand
from whimbrel.operators.rows.punctuate import Punctuate
from whimbrel.operators.rows.rename import rename
from whimbrel.operators.rows.sample import SampleKeys, sample
from whimbrel.operators.rows.select import Select, select, with_columns
from whimbrel.operators.rows.sort import Sort
from whimbrel.operators.rows.union import Union, union
from whimbrel.operators.rows.unnest import unnest
from whimbrel.operators.rows.unpivot import Unpivot, unpivot
from whimbrel.operators.rows.where import Where, where
from whimbrel.operators.signals.detect_ranges import DetectRanges, above, cfar
from whimbrel.operators.signals.fir_filter import FirFilter
from whimbrel.operators.signals.on_clock import OnClock, on_clock
from whimbrel.operators.signals.polyphase import PolyphaseResample
from whimbrel.operators.signals.process import ProcessBlocks, Step, process
from whimbrel.operators.signals.rewindow import GapRule, Rewindow, ShortRule, WindowLabel, rewindow
from whimbrel.operators.signals.samples import SegmentSamples, samples
from whimbrel.operators.signals.sync import RangeGaps, Sync, sync
from whimbrel.operators.signals.zip import Zip, zip
from whimbrel.operators.temporal.over_time import OverTime
from whimbrel.operators.temporal.periodic_loop import PeriodicLoop
from whimbrel.operators.temporal.recompute import Recompute
from whimbrel.operators.temporal.recompute_rows import RecomputeRows
from whimbrel.operators.temporal.temporal_columns import TemporalColumns
from whimbrel.operators.temporal.temporal_samples import TemporalSamples
from whimbrel.operators.windows.adaptive_window import AdaptiveWindow
from whimbrel.operators.windows.calendar_cells import CalendarCells, CalendarTimes
from whimbrel.operators.windows.calendar_sliding_window import CalendarSlidingWindow
from whimbrel.operators.windows.calendar_window import CalendarWindow
from whimbrel.operators.windows.closed_window import ClosedWindow
from whimbrel.operators.windows.last_rows import LastRows, last_rows
from whimbrel.operators.windows.quantize import Quantize, progressive_window, quantize
from whimbrel.operators.windows.session_window import Emit, SessionWindow, session_window
from whimbrel.operators.windows.sliding_borders import SlidingBorders
from whimbrel.operators.windows.table_window import TableWindow, TradingCalendar, calendar
from whimbrel.operators.windows.whole_window import WholeWindow
from whimbrel.operators.windows.window import (
    Closed,
    HoppingWindow,
    Label,
    SlidingWindow,
    hopping_window,
    sliding_window,
    tumbling_window,
)

__all__ = [
    "Absence", "AdaptiveWindow", "AlignSamples", "AlterLifetime", "AsofJoin", "Assume", "AssumeOrder", "Beginning",
    "Between", "BlockSamples", "CalendarCells", "CalendarSlidingWindow", "CalendarTimes", "CalendarWindow", "Changelog",
    "Chop", "Clip", "ClipDuration", "Closed", "ClosedWindow", "Coalesce", "Detect", "DetectRanges", "Direction",
    "DistinctWithin", "Edges", "Emit", "EpochAggregate", "EvictingAggregate", "Explode", "Extend", "Fill", "FinerUnit",
    "Finish", "FirFilter", "GapRule", "GroupAggregate", "HoppingAggregate", "HoppingWindow", "How", "Ingest",
    "ItemType", "Join", "Label", "LastRows", "LateRows", "LatencyAggregate", "LatenessBand", "Moment", "On", "OnClock",
    "OneLatency", "Outputs", "OverTime", "Pattern", "PeriodicLoop", "Pivot", "PointAtEnd", "PolyphaseResample",
    "ProcessBlocks", "Punctuate", "Quantize", "RangeGaps", "Recompute", "RecomputeRows", "Resample", "Results",
    "Retime", "Rewindow", "Running", "RunningAggregate", "SampleKeys", "SampleMethod", "SegmentSamples", "Select",
    "SemiJoin", "SessionAggregate", "SessionWindow", "SetDuration", "Shift", "ShortRule", "Simultaneous",
    "SlidingBorders", "SlidingWindow", "Sort", "Span", "Step", "Stitch", "Sync", "TableWindow", "TemporalColumns",
    "TemporalSamples", "Ties", "TopK", "TradingCalendar", "Union", "Unpivot", "Where", "WholeWindow", "WindowBound",
    "WindowLabel", "Zip", "above", "absent", "aggregate", "alter_lifetime", "anti_join", "asof_join", "assume",
    "calendar", "cfar", "chop", "clip_at", "clip_duration", "cross_join", "detect", "distinct", "distinct_within",
    "drop", "edges", "epoch_aggregate", "event", "explode", "extend", "hopping_window", "join", "last_rows", "on_clock",
    "pivot", "point_at_end", "process", "progressive_window", "quantize", "rename", "retime", "rewindow", "sample",
    "samples", "select", "semi_join", "sequence", "session_window", "set_duration", "shift", "simultaneous",
    "sliding_window", "stitch", "sync", "top_k", "tumbling_window", "union", "unnest", "unpivot", "where",
    "with_columns", "zip",
]

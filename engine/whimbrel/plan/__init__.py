"""Plans: the contracts of operators, aggregates and sources, and their graph."""

from whimbrel.plan.aggregate import (
    Aggregate,
    AggregateFunctions,
    AggregatePhase,
    AggregateSteps,
    ByColumns,
    State,
    TwoPasses,
)
from whimbrel.plan.block_reader import Excerpts
from whimbrel.plan.explain import explain, explain_together, readable
from whimbrel.plan.expressions import reads_exactly, reads_lifetime, with_parts
from whimbrel.plan.fluent import FLUENT, Operators, fluent
from whimbrel.plan.function_errors import StepFailed, failed, leaves_int64
from whimbrel.plan.graph import Node, replace_parts, rewrite, schema_over, walk
from whimbrel.plan.lineage import EVERYTHING, Exact, KnownInput, LineageRequest, ceil_to, earlier, floor_to, later
from whimbrel.plan.lookahead_check import LOOKAHEAD_HINT, check_lookahead
from whimbrel.plan.method_calls import InputStream, MethodCall
from whimbrel.plan.operator import HIDDEN, Operator
from whimbrel.plan.ordered_columns import Ordered, OrderedColumn, ordered_among, ordered_values, orders
from whimbrel.plan.overload_signal import OverloadSignal
from whimbrel.plan.partition import partition_columns
from whimbrel.plan.properties import LatePolicy, NonOverlapping, Properties, Sampling, TimeGrid, WindowGrid
from whimbrel.plan.reach import Reach
from whimbrel.plan.record_calls import recorded, used_by
from whimbrel.plan.required_times import times_needed
from whimbrel.plan.result_columns import check_shown
from whimbrel.plan.sink import Sink, Token
from whimbrel.plan.source import (
    Blocks,
    FilteredSource,
    OrderingSpec,
    PushSource,
    Source,
    SourceOffset,
    SourceSlice,
    UnsortedSource,
    WithOrdering,
)
from whimbrel.plan.structure import structure
from whimbrel.plan.value_state import (
    Frequencies,
    FrequencyState,
    ListSummary,
    Multiset,
    Objects,
    Sketch,
    SketchState,
    is_ordered,
)

__all__ = [
    "EVERYTHING",
    "FLUENT",
    "HIDDEN",
    "LOOKAHEAD_HINT",
    "Aggregate",
    "AggregateFunctions",
    "AggregatePhase",
    "AggregateSteps",
    "Blocks",
    "ByColumns",
    "Exact",
    "Excerpts",
    "FilteredSource",
    "Frequencies",
    "FrequencyState",
    "InputStream",
    "KnownInput",
    "LatePolicy",
    "LineageRequest",
    "ListSummary",
    "MethodCall",
    "Multiset",
    "Node",
    "NonOverlapping",
    "Objects",
    "Operator",
    "Operators",
    "Ordered",
    "OrderedColumn",
    "OrderingSpec",
    "OverloadSignal",
    "Properties",
    "PushSource",
    "Reach",
    "Sampling",
    "Sink",
    "Sketch",
    "SketchState",
    "Source",
    "SourceOffset",
    "SourceSlice",
    "State",
    "StepFailed",
    "TimeGrid",
    "Token",
    "TwoPasses",
    "UnsortedSource",
    "WindowGrid",
    "WithOrdering",
    "ceil_to",
    "check_lookahead",
    "check_shown",
    "earlier",
    "explain",
    "explain_together",
    "failed",
    "floor_to",
    "fluent",
    "is_ordered",
    "later",
    "leaves_int64",
    "ordered_among",
    "ordered_values",
    "orders",
    "partition_columns",
    "readable",
    "reads_exactly",
    "reads_lifetime",
    "recorded",
    "replace_parts",
    "rewrite",
    "schema_over",
    "structure",
    "times_needed",
    "used_by",
    "walk",
    "with_parts",
]

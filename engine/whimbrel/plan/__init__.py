"""The contracts (Operator, Aggregate, Source) and the graph they make; nothing here moves a row."""

from whimbrel.plan.aggregate import Aggregate, ByColumns, Part, State, Steps, TwoPasses
from whimbrel.plan.block_reader import Excerpts
from whimbrel.plan.explain import explain, explain_together, readable
from whimbrel.plan.expressions import reads_exactly, reads_lifetime
from whimbrel.plan.fluent import FLUENT, Operators, fluent
from whimbrel.plan.function_errors import StepFailed, failed, leaves_int64
from whimbrel.plan.graph import Node, rewrite, walk
from whimbrel.plan.lineage import EVERYTHING, Exact, Given, Wanted, ceil_to, earlier, floor_to, later
from whimbrel.plan.lookahead import LOOKAHEAD_HINT, check_lookahead
from whimbrel.plan.operator import HIDDEN, Operator
from whimbrel.plan.overload_signal import Relief
from whimbrel.plan.partition import partition_columns
from whimbrel.plan.properties import Apart, Beat, Grid, Properties
from whimbrel.plan.reach import Reach
from whimbrel.plan.required_times import times_needed
from whimbrel.plan.result_columns import check_shown
from whimbrel.plan.sink import Sink, Token
from whimbrel.plan.source import (
    Blocks,
    Disorder,
    Excerpt,
    HandedIn,
    LatePolicy,
    Position,
    Promising,
    Pruned,
    Source,
    Unsorted,
)
from whimbrel.plan.value_state import Bag, Objects, Sketch, Summary, is_ordered

__all__ = [
    "EVERYTHING", "FLUENT", "HIDDEN", "LOOKAHEAD_HINT", "Aggregate", "Apart", "Bag", "Beat", "Blocks", "ByColumns",
    "Disorder", "Exact", "Excerpt", "Excerpts", "Given", "Grid", "HandedIn", "LatePolicy", "Node", "Objects",
    "Operator", "Operators", "Part", "Position", "Promising", "Properties", "Pruned", "Reach", "Relief", "Sink",
    "Sketch", "Source", "State", "StepFailed", "Steps", "Summary", "Token", "TwoPasses", "Unsorted", "Wanted",
    "ceil_to", "check_lookahead", "check_shown", "earlier", "explain", "explain_together", "failed", "floor_to",
    "fluent", "is_ordered", "later", "leaves_int64", "partition_columns", "readable", "reads_exactly", "reads_lifetime",
    "rewrite", "times_needed", "walk",
]

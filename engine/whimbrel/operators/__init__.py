"""What happens to streams: one operator per file, description, movement and method together. Generated."""

from whimbrel.operators.aggregate import GroupAggregate, aggregate
from whimbrel.operators.coalesce import Coalesce
from whimbrel.operators.detect import Beginning, Detect, Outputs, Simultaneous, detect
from whimbrel.operators.join import Join, join
from whimbrel.operators.pattern import Pattern, event, sequence
from whimbrel.operators.select import Select, select, with_columns
from whimbrel.operators.where import Where, where
from whimbrel.operators.window import (
    HoppingWindow,
    Label,
    SlidingWindow,
    hopping_window,
    sliding_window,
    tumbling_window,
)

__all__ = [
    "Beginning", "Coalesce", "Detect", "GroupAggregate", "HoppingWindow", "Join", "Label", "Outputs", "Pattern",
    "Select", "Simultaneous", "SlidingWindow", "Where", "aggregate", "detect", "event", "hopping_window", "join",
    "select", "sequence", "sliding_window", "tumbling_window", "where", "with_columns",
]

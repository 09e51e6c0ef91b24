"""What happens to streams: one operator per file, description and movement together."""

from whimbrel.operators.aggregate import GroupAggregate
from whimbrel.operators.coalesce import Coalesce
from whimbrel.operators.detect import Detect
from whimbrel.operators.join import Join
from whimbrel.operators.pattern import Pattern, event, sequence
from whimbrel.operators.select import Select
from whimbrel.operators.where import Where
from whimbrel.operators.window import HoppingWindow, SlidingWindow

__all__ = [
    "Coalesce", "Detect", "GroupAggregate", "HoppingWindow", "Join", "Pattern", "Select", "SlidingWindow", "Where",
    "event", "sequence",
]

"""An exact model of every operator, independent of the engine's code.

A stream is a list of facts ``(start, end, payload)``: plain tuples, dicts and Python numbers, in any order. Every
function takes facts and answers facts; none looks at batches, order or arrival except :func:`ingress` and
:func:`partitioned_ingress`, whose very subject they are. Read each against the rule that its docstring quotes.
"""

from whimbrel.testing.oracle.aggregation import Aggregated, aggregate
from whimbrel.testing.oracle.events import INF, Event, Payload, Time, coalesced, differences
from whimbrel.testing.oracle.expressions import OracleColumns, Term, TermWhen
from whimbrel.testing.oracle.ingress import Ingested, Punctuation, ingress, partitioned_ingress
from whimbrel.testing.oracle.joins import Match, anti_join, asof_join, clip, join, semi_join, union
from whimbrel.testing.oracle.lifetimes import (
    ceil_to,
    floor_to,
    hopping_window,
    set_duration,
    shift,
    sliding_window,
    tumbling_window,
)
from whimbrel.testing.oracle.patterns import (
    Either,
    EventStep,
    Optional,
    Pattern,
    Prefixes,
    Repeat,
    SimultaneousStep,
    Then,
    detect,
    not_followed,
)
from whimbrel.testing.oracle.stateless import Function, select, where, with_columns
from whimbrel.testing.oracle.top_k import top_k

__all__ = [
    "INF",
    "Aggregated",
    "Either",
    "Event",
    "EventStep",
    "Function",
    "Ingested",
    "Match",
    "Optional",
    "OracleColumns",
    "Pattern",
    "Payload",
    "Prefixes",
    "Punctuation",
    "Repeat",
    "SimultaneousStep",
    "Term",
    "TermWhen",
    "Then",
    "Time",
    "aggregate",
    "anti_join",
    "asof_join",
    "ceil_to",
    "clip",
    "coalesced",
    "detect",
    "differences",
    "floor_to",
    "hopping_window",
    "ingress",
    "join",
    "not_followed",
    "partitioned_ingress",
    "select",
    "semi_join",
    "set_duration",
    "shift",
    "sliding_window",
    "top_k",
    "tumbling_window",
    "union",
    "where",
    "with_columns",
]

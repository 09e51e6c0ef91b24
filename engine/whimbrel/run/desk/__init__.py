"""Many named queries on one reading of their sources."""

from whimbrel.run.desk.budget import Budget
from whimbrel.run.desk.desk_loop import DeskLoop
from whimbrel.run.desk.desk_query import DeskQuery, SavedSink
from whimbrel.run.desk.desk_session import DeskSession
from whimbrel.run.desk.desk_sinks import new_run
from whimbrel.run.desk.desk_sources import NamedRows
from whimbrel.run.desk.query_cost import DeskCost, QueryCost, desk_cost
from whimbrel.run.desk.shedding.estimates import estimated
from whimbrel.run.desk.shedding.shed import Shed

__all__ = [
    "Budget", "DeskCost", "DeskLoop", "DeskQuery", "DeskSession", "NamedRows", "QueryCost", "SavedSink", "Shed",
    "desk_cost", "estimated", "new_run",
]

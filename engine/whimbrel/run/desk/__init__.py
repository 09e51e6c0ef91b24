"""Many named queries on one reading of their sources."""

from whimbrel.run.desk.budget import Budget
from whimbrel.run.desk.desk_loop import DeskLoop
from whimbrel.run.desk.desk_query import DeskQuery
from whimbrel.run.desk.desk_session import DeskSession
from whimbrel.run.desk.desk_sources import NamedRows

__all__ = ["Budget", "DeskLoop", "DeskQuery", "DeskSession", "NamedRows"]

"""Files of sqllogictest as runs over time.

From the command line: ``python -m whimbrel.testing.sqllogictest FILE...``.
"""

from whimbrel.testing.sqllogictest.records import LogicRecord, read_records
from whimbrel.testing.sqllogictest.run import LogicReport, draw, run_records

__all__ = ["LogicRecord", "LogicReport", "draw", "read_records", "run_records"]

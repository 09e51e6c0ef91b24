"""Files of sqllogictest as runs over time: ``python -m whimbrel.testing.sqllogictest FILE...``."""

from whimbrel.testing.sqllogictest.run import LogicReport, draw, run_file

__all__ = ["LogicReport", "draw", "run_file"]

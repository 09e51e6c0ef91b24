"""Runs queries of SQLite's sqllogictest files, and writes the table of refusals in docs/sql.md from the results."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.engine.sql.test_sqllogictest import drawn
from whimbrel.testing.sqllogictest import LogicReport

PAGE = Path(__file__).parents[1] / "docs" / "sql.md"
TABLE = re.compile(r"(?<=<!-- sqllogictest -->\n).*?(?=<!-- end -->)", re.DOTALL)
FILES = 100
QUERIES = 20
LONGEST = 90


def table(report: LogicReport) -> str:
    """One sentence with the counts, and a row for each refusal."""
    first = (f"Of {report.checks:,} queries, {report.passed:,} passed. Wrong: {len(report.wrong)}. "
             f"Refused: {report.refusals.total()}.")
    lines = [first, "", "| Queries | Refusal | Example |", "|---|---|---|"]
    for words, count in report.refusals.most_common():
        example = report.examples[words]
        shown = example if len(example) <= LONGEST else f"{example[:LONGEST]}..."
        lines.append(f"| {count} | {words} | `{shown.replace('|', '&#124;')}` |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table; the exit status is 1 if a result was wrong."""
    report = drawn(7, FILES, QUERIES)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table(report), text), encoding="utf-8")
    print(*report.wrong, sep="\n")
    sys.exit(1 if report.wrong else 0)


if __name__ == "__main__":
    main()

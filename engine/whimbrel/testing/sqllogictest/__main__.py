"""Run sqllogictest files from the command line."""

from __future__ import annotations

import argparse
from pathlib import Path

from whimbrel.testing.sqllogictest.records import read_records
from whimbrel.testing.sqllogictest.run import LogicReport, run_records


def main(arguments: list[str] | None = None) -> int:
    """Run the files; 0 if no result is wrong."""
    parser = argparse.ArgumentParser(prog="python -m whimbrel.testing.sqllogictest", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+", help="files, or folders with files that end with .test or .slt")
    options = parser.parse_args(arguments)
    report = LogicReport()
    for path in options.files:
        found = [path] if path.is_file() else sorted(
            each for each in path.rglob("*") if each.suffix in (".test", ".slt", ".test_slow", ".part"))
        for file in found:
            report.add(run_records(read_records(file.read_text(encoding="utf-8")), str(file)))
    print(*report.wrong, sep="\n")
    for words, count in report.refusals.most_common():
        print(f"{count:>8}  {words}  {report.examples[words][:200]}")
    print(f"{report.passed:,} passed, {len(report.wrong):,} wrong, {report.refusals.total():,} refused")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

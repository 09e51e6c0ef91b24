"""Run the conformance cases of a folder from the command line."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from whimbrel.errors import WhimbrelError
from whimbrel.testing.conformance.case import read_cases
from whimbrel.testing.conformance.run import run_case, summary

DIFFERENCES = Path("tests/laws/differences.json")
"""Where the project keeps the cases that it answers otherwise on purpose."""


def main(arguments: list[str] | None = None) -> int:
    """Run the cases; 0 when all passed."""
    parser = argparse.ArgumentParser(prog="python -m whimbrel.testing.conformance", description=__doc__)
    parser.add_argument("folder", type=Path, help="JSON files, one array of cases a family")
    parser.add_argument("--differences", type=Path, help=f"what differs on purpose (default: {DIFFERENCES}, if there)")
    parser.add_argument("--tier", action="append", choices=("interpreted", "primitives", "fused"),
                        help="default: interpreted and primitives")
    options = parser.parse_args(arguments)
    chosen = options.differences or (DIFFERENCES if DIFFERENCES.is_file() else None)
    differences = {} if chosen is None else json.loads(chosen.read_text(encoding="utf-8"))
    try:
        cases = read_cases(options.folder, differences)
    except WhimbrelError as error:
        print(error, file=sys.stderr)
        return 2
    verdicts = {case.name: run_case(case, options.tier or ("interpreted", "primitives")) for case in cases}
    print(*summary(verdicts), sep="\n")
    for name in differences.keys() & verdicts.keys():
        print(f"{'by choice':<12} {name}: {differences[name]['reason']}")
    return 0 if all(verdict.outcome == "passed" for verdict in verdicts.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())

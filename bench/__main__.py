"""``python -m bench NAME... [--quick] [--json FILE]``: run workloads, print figures. ``--help`` has other options."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from whimbrel.kernels import forced_tier

WORKLOADS = {letter: f"bench.workload_{letter.lower()}" for letter in "ABCDEFHIJKLMN"}


def main() -> None:
    """Run the named workloads (all when none is named)."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(WORKLOADS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="smaller data: within a minute per workload")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--logs", type=Path, metavar="FOLDER",
                        help="Parquet files of your own, of which H also says how often intervals hold")
    parser.add_argument("--recordings", type=Path, metavar="FOLDER",
                        help="Parquet files of an ECG, bearings, speech, metrics and trades, for rows of E and F")
    parser.add_argument("--expressions", action="store_true", help="of E, only the rows of expressions")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(WORKLOADS)
    if unknown:
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {kernels()}"
    print(f"{machine}, Python {platform.python_version()}; ours on one thread; warm; ratio > 1: ours is better")
    rows = []
    own: dict[str, dict[str, Any]] = {
        "E": {"expressions": arguments.expressions, "recordings": arguments.recordings},
        "H": {"logs": arguments.logs}, "F": {"recordings": arguments.recordings}}
    for name in arguments.names or WORKLOADS:
        options = own.get(name, {})
        for row in importlib.import_module(WORKLOADS[name]).run(quick=arguments.quick, **options):
            print(row, flush=True)
            rows.append(row.as_dict())
    if arguments.json:
        command = " ".join(["python -m bench", *arguments.names, *["--quick"] * arguments.quick,
                            *["--expressions"] * arguments.expressions])
        found = {"command": command, "commit": commit(), "machine": machine, "rows": rows}
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


def commit() -> str:
    """The state of the source that the figures are of; `dirty` means that files were changed after it."""
    asked = ["git", "describe", "--always", "--dirty"]
    found = subprocess.run(asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def kernels() -> str:
    """Which form of the kernels the figures are of."""
    if forced_tier() == "interpreted":
        return "kernels interpreted, as WHIMBREL_JIT=0 asks: figures say nothing of compiled ones"
    return "kernels compiled before the times"


if __name__ == "__main__":
    main()

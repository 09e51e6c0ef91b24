"""Commands ``whimbrel warm`` and ``whimbrel version``, and commands of other packages.

The engine never imports the workbench. Its commands, such as ``whimbrel serve``, come from the entry point
``whimbrel.commands``, a function that adds them to the parser.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib.metadata import entry_points

import whimbrel
from whimbrel.errors import WhimbrelError


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code says whether it worked."""
    parser = argparse.ArgumentParser(prog="whimbrel", description="Progressive analytics over time.")
    commands = parser.add_subparsers(dest="command", required=True)
    warming = commands.add_parser("warm", help="compile the primitives that every query uses, once")
    warming.set_defaults(run=_warm)
    commands.add_parser("version", help="say what is installed").set_defaults(run=_version)
    for entry in entry_points(group="whimbrel.commands"):
        entry.load()(commands)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except WhimbrelError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def _warm(_options: argparse.Namespace) -> int:
    from whimbrel.kernels import cache_directory, keeps_code
    from whimbrel.stream.precompile import warm

    if not keeps_code():
        print(f"nothing compiled: it cannot be kept in {cache_directory()}, which cannot be written. "
              "WHIMBREL_CACHE names another folder.", file=sys.stderr)
        return 1
    began = time.perf_counter()
    for query in warm():
        print(f"  {query[:100]}")
    print(f"compiled in {time.perf_counter() - began:.1f} s, kept in {cache_directory()}")
    return 0


def _version(_options: argparse.Namespace) -> int:
    print(f"whimbrel {whimbrel.__version__}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

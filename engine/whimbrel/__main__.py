"""Commands: ``whimbrel warm`` compiles what every query uses; ``whimbrel version`` says what is installed."""

from __future__ import annotations

import argparse
import sys
import time

import whimbrel
from whimbrel.errors import WhimbrelError


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code says whether it worked."""
    parser = argparse.ArgumentParser(prog="whimbrel", description="Progressive analytics over time.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("warm", help="compile the primitives that every query uses, once")
    commands.add_parser("version", help="say what is installed")
    command = parser.parse_args(arguments).command
    try:
        return _warm() if command == "warm" else _version()
    except WhimbrelError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def _warm() -> int:
    from whimbrel.kernels import cache_directory
    from whimbrel.stream.warm import warm

    began = time.perf_counter()
    for query in warm():
        print(f"  {query[:100]}")
    print(f"compiled in {time.perf_counter() - began:.1f} s, kept in {cache_directory()}")
    return 0


def _version() -> int:
    print(f"whimbrel {whimbrel.__version__}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

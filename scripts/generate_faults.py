"""Runs the tests that show which faults feeds survive, and writes the table of docs/feeds.md from their results."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "feeds.md"
TABLE = re.compile(r"(?<=<!-- faults -->\n).*?(?=<!-- end -->)", re.DOTALL)
TESTS = ["tests/engine/connect/feeds", "tests/engine/connect/packets/test_flow_feed.py",
         "tests/engine/run/test_checkpoint_coordinator.py"]


class Faults:
    """Which faults were shown to be survived; those of a test that failed or did not run are not."""

    def __init__(self) -> None:
        self.shown: dict[tuple[str, str], bool] = {}
        self._marks: dict[str, list[tuple[str, str]]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            self._marks[item.nodeid] = [(mark.args[0], mark.args[1]) for mark in item.iter_markers("fault")]
        items[:] = [item for item in items if self._marks[item.nodeid]]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            for pair in self._marks.get(report.nodeid, []):
                self.shown[pair] = report.passed and self.shown.get(pair, True)


def table(shown: dict[tuple[str, str], bool]) -> str:
    """Feeds down, faults across."""
    feeds = sorted({feed for feed, _ in shown})
    faults = sorted({fault for _, fault in shown})
    words = {True: "yes", False: "**no**", None: ""}
    lines = [f"| | {' | '.join(faults)} |", f"|---|{'---|' * len(faults)}"]
    lines += [f"| {feed} | {' | '.join(words[shown.get((feed, fault))] for fault in faults)} |" for feed in feeds]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table; the exit status is that of the tests."""
    faults = Faults()
    status = pytest.main(["-q", *TESTS], plugins=[faults])
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table(faults.shown), text), encoding="utf-8")
    sys.exit(status)


if __name__ == "__main__":
    main()

"""What a machine lacks is said once, in the last line; `WHIMBREL_NOTHING_SKIPPED=1` makes any skip a failure."""

from __future__ import annotations

import gc
import math
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from whimbrel.spark import has_java

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"
KAFKA_JARS = Path(sys.prefix) / "kafka"
"""Where `scripts/maven.sh` puts a broker, in the environment that runs the tests."""
LOGIC_FILES = Path(sys.prefix) / "sqllogictest"
"""Where it puts files of sqllogictest."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def found(program: str) -> Path | None:
    """Where a server is, also where Debian hides it."""
    folders = [*os.environ["PATH"].split(os.pathsep), "/usr/sbin",
               *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))]
    path = shutil.which(program, path=os.pathsep.join(folders))
    return None if path is None else Path(path)


def may_mount() -> bool:
    """Whether a process may have a small file system of its own."""
    if shutil.which("unshare") is None:
        return False
    asked = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(asked, check=False, capture_output=True).returncode == 0


NEEDS = {
    "browser": ("Chromium", "chromium", lambda: any(shutil.which(name) for name in BROWSERS)),
    "spark": ("a Java runtime", "openjdk-17-jre-headless", has_java),
    "redis": ("Redis", "redis-server", lambda: found("redis-server")),
    "mosquitto": ("Mosquitto", "mosquitto", lambda: found("mosquitto")),
    "nats": ("NATS", "nats-server", lambda: found("nats-server")),
    "postgres": ("PostgreSQL", "postgresql", lambda: found("initdb")),
    "small_disk": ("the right to mount a file system", "util-linux", may_mount),
    "kafka": ("a Kafka broker", "maven", lambda: has_java() and any(KAFKA_JARS.glob("kafka_*.jar"))),
    "sqllogictest": ("files of sqllogictest", "maven", lambda: any(LOGIC_FILES.glob("*.jar"))),
}
OPTIONAL = {"kafka", "small_disk", "sqllogictest"}
"""Left out where it is not there, and said, but no failure: the cluster that librdkafka brings is everywhere, and so is
a limit of a file's size. Containers seldom let anybody mount. Small files of sqllogictest stand in the tests."""
NOTHING_SKIPPED = os.environ.get("WHIMBREL_NOTHING_SKIPPED") == "1"
UNTIL = float(os.environ.get("WHIMBREL_LONG_TESTS_UNTIL", "inf"))
"""No long test begins after this second since 1970: CI ends in time on a slow machine, too."""

gc.set_threshold(50_000, 20, 20)  # the compiler makes much that lives long: a twentieth of the time went into looking

# The machine may be busy, and a first call compiles. The examples are the same, whichever other tests run.
settings.register_profile("untimed", deadline=None, derandomize=True, database=None, max_examples=40,
                          suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

missing: Counter[str] = Counter()
not_begun: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def what_stays_is_looked_at_once() -> Iterator[None]:
    """Compiled kernels stay for good: the collector of garbage need not go through those of every file before."""
    yield
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is long
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what needs a program that is not there; leave out what is optional, or reads the optional data folder.

    What drives another program, or reads a feed by threads of its own, is tried up to twice more when it fails, and
    the summary says so: on a busy machine a browser, a broker or a thread may take longer than a test waits.
    """
    _mark_cases_outside_a_share(items)
    left_out = [] if SHARED_DATA.is_dir() else [item for item in items if item.get_closest_marker("data")]
    for item in items:
        for mark, (program, _, there) in NEEDS.items():
            if item.get_closest_marker(mark) and not there():
                missing[mark] += 1
                if mark in OPTIONAL:
                    left_out.append(item)
                else:
                    item.add_marker(pytest.mark.skip(reason=f"needs {program}"))
        if any(item.get_closest_marker(mark) for mark in NEEDS) or item.path.parent.name == "feeds":
            item.add_marker(pytest.mark.flaky(reruns=2))
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
    if math.isfinite(UNTIL):  # another order of files for each commit: in the end all of them are in time
        commit = subprocess.run(["git", "rev-parse", "HEAD"], check=False, capture_output=True, text=True).stdout
        items.sort(key=lambda item: random.Random(f"{commit}{item.path}").random())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Leave out a long test that would begin too late, and count it."""
    if time.time() < UNTIL or item.get_closest_marker("long") is None:
        return None
    not_begun[str(item.path.relative_to(item.config.rootpath))] += 1
    return True


def _mark_cases_outside_a_share(items: list[pytest.Item]) -> None:
    """Mark the cases that `make test` leaves out of a test with a share.

    Of each n cases one is drawn by a fixed seed; the others are long, or what `rest` says. Every n-th would be
    the same value of a parameter where a grid has n of them.
    """
    cases: Counter[str] = Counter()
    for item in items:
        if (share := item.get_closest_marker("share")) is not None:
            function, (n,) = item.nodeid.partition("[")[0], share.args
            group, place = divmod(cases[function], n)
            if place != random.Random(f"{function} {group}").randrange(n):
                item.add_marker(share.kwargs.get("rest", "long"))
            cases[function] += 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if NOTHING_SKIPPED and reporter.stats.get("skipped") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.section("skipped, and nothing may be")
        for report in reporter.stats["skipped"]:
            reporter.line(f"{report.nodeid}: {report.longrepr[2]}")


def pytest_unconfigure() -> None:
    if not_begun:
        print("Not begun, the time for long tests was over:", *(f"{path} ({n})" for path, n in not_begun.items()))
    if missing:
        what = " and ".join(f"{count} {mark} tests (no {NEEDS[mark][0]})" for mark, count in missing.items())
        packages = " ".join(NEEDS[mark][1] for mark in missing)
        print(f"Not run: {what}. To run them: sudo apt-get install {packages} && make test")

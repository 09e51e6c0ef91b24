"""A sink that fails ends the query whose rows it takes, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import until
from tests.engine.connect.feeds.servers import free_port
from tests.engine.ended import ended
from whimbrel.errors import SinkError

WAIT_S = 30
Step = Literal["write", "prepare", "commit", "close"]


class Broken(wb.sinks.Sink):
    """Does not do one of its steps."""

    name = "broken"

    def __init__(self, step: Step) -> None:
        self.step, self.closed = step, 0

    def _do(self, step: Step) -> None:
        if step == self.step:
            raise RuntimeError("no route to host")

    def open(self, schema: pa.Schema, rows: int, token: Any) -> None:
        pass

    def write(self, rows: pa.RecordBatch) -> None:
        self._do("write")

    def prepare(self) -> None:
        self._do("prepare")

    def commit(self, token: Any) -> None:
        self._do("commit")

    def close(self) -> None:
        self.closed += 1
        self._do("close")


def query() -> wb.Stream:
    feed = wb.feeds.iterator(lambda: [{"at": at} for at in range(100)], time="at", schema={"at": "int64"})
    return feed.tumbling_window(10).aggregate(n=wb.count())


@pytest.mark.parametrize("step", ["write", "prepare", "commit"])
def test_its_neighbour_continues(tmp_path: Path, step: Step) -> None:
    sink, asked = Broken(step), query()
    failing, going = wb.start(asked, asked.where(wb.col.n > 0), sinks=[sink, wb.sinks.parquet(tmp_path)])
    assert ended(failing, WAIT_S)
    assert going.wait(WAIT_S)
    assert (failing.state, going.state) == ("failed", "finished")
    assert isinstance(failing.error, SinkError)
    assert "Cannot write to broken: RuntimeError: no route to host" in failing.error.what
    assert (going.error, sink.closed) == (None, 1)
    files = sorted(tmp_path.glob("rows-*.parquet"))
    assert sum(sum(parquet.read_table(file)["n"].to_pylist()) for file in files) == 100


@pytest.mark.parametrize("step", ["write", "prepare", "commit"])
def test_a_query_alone_fails_with_it(step: Step) -> None:
    run = query().start(sink=Broken(step))
    assert ended(run, WAIT_S)
    assert (run.state, type(run.error)) == ("failed", SinkError)


def test_rows_that_are_committed_are_there_when_it_cannot_be_closed() -> None:
    run = query().start(sink=Broken("close"))
    assert run.wait(WAIT_S)
    assert (run.state, run.error) == ("finished", None)


def test_what_resumes_from_the_same_checkpoints_ends_with_it_so_that_no_row_is_lost(tmp_path: Path) -> None:
    options = {"checkpoints": wb.Checkpoints(tmp_path / "state")}
    asked, out = query(), wb.sinks.parquet(tmp_path / "out")
    runs = wb.start(asked, asked, sinks=[Broken("write"), out], **options)
    assert all(ended(run, WAIT_S) for run in runs)
    assert [run.state for run in runs] == ["failed"] * 2
    runs = wb.start(asked, asked, sinks=[wb.sinks.parquet(tmp_path / "mended"), out], **options)
    assert all(run.wait(WAIT_S) for run in runs)
    assert [run.state for run in runs] == ["finished"] * 2
    for folder in ("mended", "out"):
        files = sorted((tmp_path / folder).glob("rows-*.parquet"))
        assert sum(sum(parquet.read_table(file)["n"].to_pylist()) for file in files) == 100


@pytest.mark.postgres
def test_what_no_table_can_hold_is_said_with_its_column_and_that_it_fails_again(tmp_path: Path) -> None:
    with servers.running(servers.postgres(tmp_path / "postgres")) as server:
        url = f"postgresql://test@127.0.0.1:{server.port}/postgres"
        until(lambda: servers.accepts(url))

        def written(table: str, key: str, *values: Any, **type_: str) -> Any:
            name, = type_
            rows = [{"at": at, name: value} for at, value in enumerate(values)]
            feed = wb.feeds.iterator(lambda: rows, time="at", schema={"at": "int64", **type_})
            run = feed.start(sink=wb.sinks.postgres(table, url, key=[key]))
            assert ended(run, WAIT_S)
            return run.error

        assert written("large", "at", 2**64 - 1, 5, n="uint64") is None
        assert written("coarse", "at", 1_001, None, t="timestamp[ns]") is None
        with psycopg.connect(url) as link:
            assert link.execute("SELECT n FROM large ORDER BY at").fetchall() == [(2**64 - 1,), (5,)]
            link.execute("CREATE TABLE small (start bigint, \"end\" bigint, at bigint PRIMARY KEY, n smallint)")
        for error, what in (
                (written("texts", "at", "ok", "a\0b", s="string"), r"'s' is 'a\\x00b' where at = 1, a string with"),
                (written("keys", "s", "ok", None, s="string"), "'s' is None, which a key column must not hold"),
                (written("finer", "t", 2_000, 1_001, t="timestamp[ns]"), "'t' is '1970-01-01T00:00:00.000001001', a"),
                (written("small", "at", 1, 100_000, n="int64"), "smallint out of range")):
            assert isinstance(error, SinkError)
            assert re.search(what, str(error))
            assert "hint" in str(error)


def test_brokers_that_are_away_are_reported_while_the_sink_retries(capfd: pytest.CaptureFixture[str]) -> None:
    servers = f"127.0.0.1:{free_port()}"
    sink = wb.sinks.kafka("none", servers)
    sink.retry_timeout_s = 2.0
    run = query().start(sink=sink)
    until(lambda: run.metrics.sink_error == f"no broker answers at {servers}")
    assert repr(run) == f"<Run running; its sink waits: no broker answers at {servers}>"
    assert ended(run, WAIT_S)
    assert "were not acknowledged: no broker answers" in str(run.error)
    assert capfd.readouterr().err == ""

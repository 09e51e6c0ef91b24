"""Many rows that a feed gives at once: worked on in parts, and written down whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, until
from whimbrel.connect.feeds import Feed
from whimbrel.connect.feeds.runtime.client import Client, MessageBatch
from whimbrel.plan import Node
from whimbrel.run import source_reader
from whimbrel.run.checkpoint_coordinator import CheckpointCoordinator, Checkpoints
from whimbrel.run.execution import Execution
from whimbrel.stream import Stream

ROWS = 20_000


class AtOnce(Client):
    """All rows in one delivery, which has one offset after it."""

    def __init__(self, begun: bool, ends: bool) -> None:
        self._begun, self._ends = begun, ends

    def receive(self, timeout_s: float) -> MessageBatch | None:
        if self._begun and self._ends:
            raise EOFError
        if self._begun:
            return None
        self._begun = True
        return MessageBatch(pa.RecordBatch.from_pydict({"at": list(range(ROWS))}), "after all")

    def close(self) -> None:
        pass


class Heap(Feed):
    """A feed that gives all that it has at once."""

    def __init__(self, *, ends: bool = False) -> None:
        self._ends = ends
        super().__init__("heap", time="at", schema={"at": "int64"}, format=None)

    def connect(self, offset: str | None) -> Client:
        return AtOnce(offset is not None, self._ends)


def counted(feed: Feed) -> Stream:
    return Stream(Node(feed)).tumbling_window(100).aggregate(n=wb.count())


def begin(session: Execution, coordinator: CheckpointCoordinator | None = None) -> None:
    """Work until there are rows."""
    while not session.reader.rows:
        outs = session.step()
        if coordinator is not None:
            coordinator.take(session, outs)
    assert session.reader.rows < ROWS


def test_a_step_is_small_however_much_comes_at_once() -> None:
    session = Execution(counted(Heap()).node)
    begin(session)
    assert list(session.complete())
    assert session.reader.rows == ROWS
    session.close()


def test_a_checkpoint_between_the_parts_is_after_all_of_them(tmp_path: Path) -> None:
    asked, kept = counted(Heap(ends=True)), Checkpoints(tmp_path / "state", every="1h")

    coordinator = CheckpointCoordinator([wb.sinks.parquet(tmp_path / "out")], kept)
    session = coordinator.open(lambda: Execution(asked.node))
    begin(session, coordinator)
    coordinator.write(session)
    session.close()
    coordinator.close()
    assert asked.start(sink=wb.sinks.parquet(tmp_path / "out"), checkpoints=kept).wait(PATIENCE_S)
    written = [parquet.read_table(file) for file in sorted((tmp_path / "out").glob("rows-*.parquet"))]
    assert pa.concat_tables(written).select(["start", "n"]).to_pylist() == [
        {"start": start, "n": 100} for start in range(0, ROWS, 100)]


@pytest.mark.parametrize("halt", [wb.Run.pause, wb.Run.stop])
def test_what_is_halted_between_the_parts_can_be_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                              halt: Callable[[wb.Run], None]) -> None:
    monkeypatch.setattr(source_reader, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(source_reader, "BATCH_ROWS", 1)  # each part is of one row
    asked = counted(Heap(ends=True))
    run = asked.start()
    until(lambda: run.metrics.rows > 0)
    halt(run)
    run.checkpoint(tmp_path / "point")
    run.stop()
    assert run.wait(PATIENCE_S)
    later = wb.restore(tmp_path / "point", asked)
    assert later.wait(PATIENCE_S)
    before = run.snapshot()
    counts = pa.concat_tables([before.table.slice(0, before.settled), later.snapshot().table])["n"]
    assert counts.to_pylist() == [100] * (ROWS // 100)


def test_who_asks_is_not_kept_waiting_by_a_quiet_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_reader, "_WAIT_S", 3600.0)
    run = counted(Heap()).start()
    until(lambda: run.snapshot(timeout=0.1).metrics.rows == ROWS)
    run.stop()
    assert run.wait(PATIENCE_S)

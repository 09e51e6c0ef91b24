"""Checkpoints: what is written, what is refused, and that a run resumes as if nothing had been."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.ended import ended
from whimbrel import col
from whimbrel.batch import Column
from whimbrel.errors import CheckpointError, DamagedCheckpointError
from whimbrel.kernels import FIXED, KeyTable, ObjectState, restored, state_of
from whimbrel.plan import Node, Source
from whimbrel.run.state_file import read_state, write_state
from whimbrel.testing.conformance.restart import Halting

ROWS = 200


def events(rows: int = ROWS, **more: Any) -> wb.Stream:
    columns = {"at": [2 * row for row in range(rows)], "key": [(None, "ü", "b")[row % 3] for row in range(rows)],
               "x": [row % 7 for row in range(rows)]}
    return wb.from_arrow(columns | more, time="at")


def query(stream: wb.Stream) -> wb.Stream:
    return stream.where(col.x > 0).group_by("key").sliding_window(9).aggregate(n=wb.count(), hi=wb.max(col.x))


def started(stream: wb.Stream, rows: int) -> wb.Run:
    """A run of the query that has read so many rows and waits for more."""
    run = query(wb.Stream(type(stream.node)(Halting(stream.sources[0], rows)))).start()
    while run.snapshot().metrics.rows < rows:
        pass
    return run


def facts(table: pa.Table) -> list[Any]:
    return sorted((list(row.values()) for row in table.to_pylist()), key=str)


def settled(run: wb.Run) -> pa.Table:
    shot = run.snapshot()
    return shot.table.slice(0, shot.settled)


@pytest.mark.parametrize("rows", [0, 1, 77, ROWS])
def test_before_and_after_are_the_whole(tmp_path: Path, rows: int) -> None:
    run = started(events(), rows)
    run.pause()
    run.checkpoint(tmp_path / "run")
    later = wb.restore(tmp_path / "run", query(events()))
    assert later.wait(30)
    assert facts(pa.concat_tables([settled(run), settled(later)])) == facts(query(events()).collect())
    metrics = later.metrics
    assert (metrics.rows, metrics.fraction_read) == (ROWS, 1.0)
    assert metrics.evicted_rows == settled(run).num_rows
    assert metrics.settled_rows == len(facts(query(events()).collect()))


def test_rows_that_were_added_meanwhile_are_read(tmp_path: Path) -> None:
    run = started(events(), ROWS)
    run.checkpoint(tmp_path / "run")
    later = wb.restore(tmp_path / "run", query(events(ROWS + 50)))
    assert later.wait(30)
    assert facts(pa.concat_tables([settled(run), settled(later)])) == facts(query(events(ROWS + 50)).collect())


def test_a_finished_run_gives_nothing_more(tmp_path: Path) -> None:
    run = query(events()).start()
    assert run.wait(30)
    run.checkpoint(tmp_path / "run")
    later = wb.restore(tmp_path / "run", query(events()))
    assert later.wait(30)
    assert later.snapshot().table.num_rows == 0
    assert later.snapshot().final


def test_the_files_are_arrow_and_there_are_no_others(tmp_path: Path) -> None:
    run = started(events(), 77)
    for _ in range(2):
        run.checkpoint(tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    files = sorted((tmp_path / "run").glob("*.arrow"))
    assert {path.name for path in (tmp_path / "run").iterdir()} - {file.name for file in files} == {"sums.json"}
    assert [file.suffix for file in files] == [".arrow"] * len(files)
    columns = {name for file in files for name in pa.ipc.open_file(pa.memory_map(str(file))).schema.names}
    assert "state.keys.columns.0.dictionary" in columns


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(tmp_path: Path,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    run = started(events(), 10)
    run.checkpoint(tmp_path / "run")

    def full(*_: Any) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("whimbrel.run.state_folder.write_state", full)
        with pytest.raises(CheckpointError, match="no space left"):
            run.checkpoint(tmp_path / "run")
    assert run.state == "running"
    assert wb.restore(tmp_path / "run", query(events())).wait(30)


def test_the_one_before_is_taken_when_the_machine_went_down_while_they_were_swapped(tmp_path: Path) -> None:
    started(events(), 10).checkpoint(tmp_path / "run")
    (tmp_path / "run").rename(tmp_path / ".run.previous")
    assert wb.restore(tmp_path / "run", query(events())).wait(30)


@pytest.mark.parametrize(("other", "what"), [
    (query(events()).where(col.n > 1), "with 4 steps, not 5"),
    (query(events().where(col.x < 3)), r"it has where\(col.x > 0\), not where\(col.x < 3\)\."),
    (query(events(y=[1] * ROWS)), r"it has table\(at: int64, key: string, x: int64\).*, not .*, y: int64\)"),
    (query(wb.from_arrow({"at": [1], "key": ["a"], "x": [1]}, time="at", reorder_latency=3)), "reorder_latency=3"),
])
def test_another_query_is_refused(tmp_path: Path, other: wb.Stream, what: str) -> None:
    started(events(), 10).checkpoint(tmp_path / "run")
    with pytest.raises(CheckpointError, match=what):
        wb.restore(tmp_path / "run", other)


def test_a_log_is_planned_as_the_feed_before_it(tmp_path: Path) -> None:
    log = wb.from_arrow({"at": [row ^ 1 for row in range(ROWS)]}, time="at", reorder_latency=1, name="log")

    def counts(source: Source) -> wb.Stream:
        return wb.Stream(Node(source)).tumbling_window(10).aggregate(n=wb.count())

    feed = counts(Halting(log.sources[0], 77))
    assert "partial aggregate" in feed.explain()
    assert "partial aggregate" not in counts(log.sources[0]).explain()
    run = feed.start()
    while run.snapshot().metrics.rows < 77:
        pass
    run.pause()
    run.checkpoint(tmp_path / "run")
    later = wb.restore(tmp_path / "run", counts(log.sources[0]))
    assert later.wait(30)
    assert facts(pa.concat_tables([settled(run), settled(later)])) == facts(counts(log.sources[0]).collect())


def test_another_version_is_refused(tmp_path: Path) -> None:
    started(events(), 10).checkpoint(tmp_path / "run")
    state = read_state(tmp_path / "run" / "run.arrow")
    write_state(tmp_path / "run" / "run.arrow", state | {"version": "0.0.1"})
    (tmp_path / "run" / "sums.json").unlink()  # other versions may have none
    with pytest.raises(CheckpointError, match=r"written by whimbrel 0\.0\.1 \(format 16\)"):
        wb.restore(tmp_path / "run", query(events()))


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with pytest.raises(CheckpointError, match="exists and does not hold a checkpoint"):
        started(events(), 10).checkpoint(tmp_path / "other")
    for name in ("other", "nowhere"):
        with pytest.raises(CheckpointError, match="There is no checkpoint in"):
            wb.restore(tmp_path / name, query(events()))


def test_a_failed_run_is_refused(tmp_path: Path) -> None:
    run = query(wb.from_arrow({"at": [5, 1], "key": ["a", "b"], "x": [1, 1]}, time="at")).start()
    assert ended(run, 30)
    with pytest.raises(CheckpointError, match="because the run has failed"):
        run.checkpoint(tmp_path / "run")


def test_state_survives_a_file(tmp_path: Path) -> None:
    state = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "b": [None, True, -(2**63), 0.5, "ü", float("inf")],
             "c": {(1, "x", None): (1, [2]), 5: {}}, "d": FIXED, "e": np.zeros(0, np.bool_),
             "f": pa.array([["x"], None]), "g": ObjectState({"n": 1})}
    write_state(tmp_path / "file", state)
    found = read_state(tmp_path / "file")
    assert found.pop("a").tolist() == state.pop("a").tolist()
    assert found.pop("e").dtype == state.pop("e").dtype
    assert found.pop("f").equals(state.pop("f"))
    assert found == state


def test_key_tables_give_the_same_ids(tmp_path: Path) -> None:
    types = [pa.string(), pa.float64()]
    rows = (["a", None, "b", "a"], [1.0, None, float("nan"), 1.0]), (["c", None, "a"], [1.0, None, 1.0])
    columns = [[Column.from_arrow(pa.array(values, type_)) for values, type_ in zip(part, types, strict=True)]
               for part in rows]
    keys = KeyTable(types)
    first = keys.ids(columns[0], 4)
    write_state(tmp_path / "keys", state_of(keys))
    clone = restored(KeyTable(types), read_state(tmp_path / "keys"))
    assert clone.ids(columns[0], 4).tolist() == first.tolist()
    assert clone.ids(columns[1], 3).tolist() == keys.ids(columns[1], 3).tolist()
    assert [str(column.to_arrow()) for column in clone.values(first)] == [
        str(column.to_arrow()) for column in keys.values(first)]


def test_collections_that_would_be_forgotten_are_refused() -> None:
    with pytest.raises(TypeError, match="got set"):
        state_of([{1, 2}])


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    started(events(), 10).checkpoint(tmp_path / "run")
    for file in sorted((tmp_path / "run").iterdir()):
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(CheckpointError, match=r"Cannot read|has changed since it was written"):
            wb.restore(tmp_path / "run", query(events()))
        file.write_bytes(whole)
    assert wb.restore(tmp_path / "run", query(events())).wait()


@pytest.mark.parametrize("word", [b"version", b"format", version("whimbrel").encode()])
def test_a_bit_that_has_changed_is_a_damage(tmp_path: Path, word: bytes) -> None:
    """Whatever it makes of the text: another version, or a word that is not looked for."""
    started(events(), 10).checkpoint(tmp_path / "run")
    file = tmp_path / "run" / "run.arrow"
    whole = file.read_bytes()
    assert word in whole
    file.write_bytes(whole.replace(word, word[:-3] + bytes([word[-3] ^ 1]) + word[-2:]))
    with pytest.raises(DamagedCheckpointError):
        wb.restore(tmp_path / "run", query(events()))


def test_a_place_that_cannot_be_written_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(CheckpointError, match="Cannot write"):
        started(events(), 10).checkpoint(tmp_path / "file" / "run")


def test_a_query_that_would_run_otherwise_is_refused(tmp_path: Path) -> None:
    """On a beat there is other state: a source whose rows may last longer has another plan."""
    points = {"at": list(range(100)), "x": list(range(100))}
    lasting = points | {"until": [at + 1 for at in range(100)]}

    def sums(log: wb.Stream) -> wb.Stream:
        return log.select("x").assume(non_overlapping=True).sliding_window(5).aggregate(t=wb.sum(col.x))

    known = sums(wb.from_arrow(points, time="at", name="log"))
    unknown = sums(wb.from_arrow(lasting, time="at", end="until", name="log"))
    assert "periodic_loop" in known.explain()
    assert "periodic_loop" not in unknown.explain()
    run = known.start()
    run.checkpoint(tmp_path / "run")
    with pytest.raises(CheckpointError, match=r"another query|optimized plan has changed"):
        wb.restore(tmp_path / "run", unknown)


AGGREGATE = "made = wb.aggregate(init={init}, accumulate=lambda s, x: s + {factor} * x, result=lambda s: s{name})"


def user_made(text: str) -> wb.Stream:
    known: dict[str, Any] = {"wb": wb}
    exec(text, known)
    return events().tumbling_window(10).aggregate(t=known["made"](col.x))


@pytest.mark.parametrize("name", ["", ', name="total"'])
def test_a_users_aggregate_is_known_by_what_it_does(tmp_path: Path, name: str) -> None:
    """Not by the line where it stands, nor by its name: another function would resume with the state of the first."""
    run = user_made(AGGREGATE.format(init=0, factor=1, name=name)).start()
    run.checkpoint(tmp_path / "run")
    moved = "\n# moved\n" + AGGREGATE.format(init=0, factor=1, name=name)
    assert wb.restore(tmp_path / "run", user_made(moved)).wait(30)
    for init, factor in ((0, 2), (1, 1)):
        with pytest.raises(CheckpointError, match="another query"):
            wb.restore(tmp_path / "run", user_made(AGGREGATE.format(init=init, factor=factor, name=name)))

"""Folders of CSV, JSON lines and Arrow IPC files: each row once, whatever happens between two runs."""

from __future__ import annotations

import datetime as dt
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.connect.feeds.listen import PATIENCE_S, until
from whimbrel.connect.sinks.folder_sink import FolderSink
from whimbrel.errors import SinkError, SourceError

KINDS: dict[str, tuple[Callable[..., FolderSink], Callable[..., wb.Stream]]] = {
    "csv": (wb.sinks.csv, wb.read_csv), "jsonl": (wb.sinks.json, wb.read_json), "arrow": (wb.sinks.ipc, wb.read_ipc)}
SCHEMA = pa.schema({"at": pa.int64(), "x": pa.string()})
PART = 100


def part(first: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(range(first, first + PART)), pa.array([f"{at}, \n" for at in range(PART)])],
                           schema=SCHEMA)


def opened(kind: str, folder: Path, known: int, token: list[str] | None) -> FolderSink:
    sink = KINDS[kind][0](folder)
    sink.run = "run"
    try:
        sink.open(SCHEMA, known, token)
    except SinkError:
        sink.close()
        raise
    return sink


def written(kind: str, folder: Path) -> list[str]:
    """Three files, of which the last one is prepared. Its token."""
    sink, token = opened(kind, folder, 0, None), []
    for first in range(0, 3 * PART, PART):
        sink.commit(token)
        sink.write(part(first))
        token = sink.prepare()
    sink.close()
    return token


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_read_again_as_they_were(kind: str, tmp_path: Path) -> None:
    at = [dt.datetime(2024, 5, 1, 0, 0, second, second) for second in range(6)]
    log = wb.from_arrow({"at": at, "x": [1.5, None, -2.0, 1e300, 0.1, 3.0],
                         "k": ['a "quoted", text', "ü", None, "b", "c", "1"]}, time="at")
    run = log.select("at", "x", "k").start(sink=KINDS[kind][0](tmp_path / "out"))
    assert run.wait(PATIENCE_S)
    assert run.error is None
    assert [path.name for path in (tmp_path / "out").glob("*.*") if path.name[0] != "."] == [
        f"rows-{0:015}-{6:015}.{kind}"]
    again = KINDS[kind][1](tmp_path / "out", time="at").select("x", "k")
    assert again.collect().to_pylist() == log.select("x", "k").collect().to_pylist()


@pytest.mark.parametrize("kind", [*KINDS, "parquet"])
def test_a_result_without_rows_is_an_empty_log(kind: str, tmp_path: Path) -> None:
    sink, read = {**KINDS, "parquet": (wb.sinks.parquet, wb.read_parquet)}[kind]
    log = wb.from_arrow({"at": [dt.datetime(2024, 5, 1)], "x": [1], "s": ["a"]}, time="at")
    for name in "ab":
        run = log.where(wb.col.x > 1).start(sink=sink(tmp_path / name))
        assert run.wait(PATIENCE_S)
    for path in (tmp_path / "a", [tmp_path / "a", tmp_path / "b"], tmp_path / "[ab]", tmp_path / "a" / "*",
                 tmp_path / "*" / "rows-*.*"):
        again = read(path, time="start", end="end")
        assert again.where(wb.col.x > 1).select("x", "s").collect().schema.types[-2:] == [pa.int64(), pa.string()]
    with pytest.raises(SourceError, match=r"There is no \.(csv|parquet) file"):
        (wb.read_csv if kind != "csv" else wb.read_parquet)(tmp_path / "a", time="start")
    with pytest.raises(SourceError, match="No file matches"):
        read(tmp_path / "a" / "days-*", time="start")
    run = log.start(sink=sink(tmp_path / "a"))
    assert run.wait(PATIENCE_S)
    assert read([tmp_path / "b", tmp_path / "a"], time="start").select("x").collect()["x"].to_pylist() == [1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stopped_run_resumes_and_writes_each_row_once(kind: str, tmp_path: Path) -> None:
    asked = wb.feeds.synthetic(rate=4000, rows=1500, seed=1).tumbling_window("20ms").aggregate(n=wb.count())

    def started() -> wb.Run:
        return asked.start(sink=KINDS[kind][0](tmp_path / "out"),
                           checkpoints=wb.Checkpoints(tmp_path / "state", every="10ms"))

    run = started()
    until(lambda: run.metrics.rows > 300)
    run.stop()
    assert run.wait(PATIENCE_S)
    later = started()
    assert later.wait(PATIENCE_S)
    assert later.error is None
    whole = KINDS[kind][1](tmp_path / "out", time="start").select("n").collect()["n"].to_pylist()
    assert whole == asked.collect()["n"].to_pylist()
    assert not list((tmp_path / "out").glob(".rows-*"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_prepared_is_committed_and_what_was_not_is_written_again(kind: str, tmp_path: Path) -> None:
    token = written(kind, tmp_path)
    assert len(list(tmp_path.glob(f"rows-*.{kind}"))) == 2
    (tmp_path / f".rows-{300:015}-{400:015}.{kind}").write_bytes(b"half of a f")
    sink = opened(kind, tmp_path, 3 * PART, token)
    sink.write(part(300))
    sink.commit(sink.prepare())
    sink.close()
    assert len(list(tmp_path.glob(f"rows-*.{kind}"))) == 4
    opened(kind, tmp_path, 2 * PART, []).close()  # an older checkpoint
    assert len(list(tmp_path.glob(f"*rows-*.{kind}"))) == 2


def change_a_byte(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 3] ^= 1
    path.write_bytes(whole)


HARMS: dict[str, Callable[[Path], Any]] = {
    "no file": Path.unlink, "was changed": change_a_byte,
    "was cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "has no checksum": lambda path: (path.parent / ".checksums").unlink()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("why", HARMS)
def test_a_run_does_not_resume_where_rows_are_missing(kind: str, why: str, tmp_path: Path) -> None:
    token = written(kind, tmp_path)
    HARMS[why](tmp_path / f"rows-{0:015}-{PART:015}.{kind}")
    with pytest.raises(SinkError, match=rf"wrote 300 rows.* rows 0 to 99 .*{why}") as refused:
        opened(kind, tmp_path, 3 * PART, token)
    assert refused.value.where == f"sinks.{ {'jsonl': 'json', 'arrow': 'ipc'}.get(kind, kind)}({str(tmp_path)!r})"


def test_nan_of_csv_is_read_again_if_its_name_is_no_null(tmp_path: Path) -> None:
    rows = pa.table({"at": [1, 2, 3, 4], "x": [math.nan, math.inf, -math.inf, None]})
    (tmp_path / "rows.csv").write_bytes(wb.sinks.csv(tmp_path).encoded(rows))
    found = wb.read_csv(tmp_path, time="at", null_values=[]).collect()["x"].to_pylist()
    assert (math.isnan(found[0]), found[1:]) == (True, [math.inf, -math.inf, None])
    assert wb.read_csv(tmp_path, time="at").collect()["x"].to_pylist() == [None, math.inf, -math.inf, None]


def test_a_copied_folder_is_complete(tmp_path: Path) -> None:
    token = written("csv", tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two", copy_function=shutil.copyfile)
    for path in (tmp_path / "two").iterdir():
        os.utime(path, ns=(1, 1))
    opened("csv", tmp_path / "two", 3 * PART, token).close()


def test_types_without_a_text_are_refused_before_rows_are_written(tmp_path: Path) -> None:
    log = wb.from_arrow({"at": [1], "x": [[1, 2]]}, time="at")
    with pytest.raises(SinkError, match=r"CSV has no values of the type of column 'x', list<") as refused:
        log.start(sink=wb.sinks.csv(tmp_path / "out")).wait(PATIENCE_S)
    assert "sinks.json" in refused.value.hint
    assert not (tmp_path / "out").exists()
    with pytest.raises(SinkError, match="delimiter must be one character"):
        wb.sinks.csv(tmp_path, delimiter="ab")
    with pytest.raises(SinkError, match="compression must be"):
        wb.sinks.ipc(tmp_path, compression="gzip")

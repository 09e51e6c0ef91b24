"""Runs that outlive their process: checkpoints, sinks, kills, full disks."""

from __future__ import annotations

import contextlib
import errno
import json
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import psycopg
import pyarrow as pa
import pytest
import redis
from pyarrow import parquet

import whimbrel as wb
from tests.engine.connect.feeds import servers
from tests.engine.connect.feeds.listen import PATIENCE_S, until
from tests.engine.run import full_disk, killed
from whimbrel.connect.sinks.json_rows import json_rows
from whimbrel.errors import CheckpointError, PlanError, SinkError
from whimbrel.run import state_folder


def rows(first: int, stop: int) -> list[dict[str, int]]:
    return [{"at": at, "x": at % 7} for at in range(first, stop)]


def query(stop: int = 100) -> wb.Stream:
    feed = wb.feeds.iterator(lambda: rows(0, stop), time="at", schema={"at": "int64", "x": "int64"})
    return feed.tumbling_window(10).aggregate(total=wb.sum(wb.col.x))


def in_parquet(folder: Path) -> list[Any]:
    files = sorted(folder.glob("rows-*.parquet"))
    return [row for file in files for row in parquet.read_table(file).to_pylist()]


def started(folder: Path, asked: wb.Stream, **options: Any) -> wb.Run:
    return asked.start(sink=wb.sinks.parquet(folder / "out"), checkpoints=wb.Checkpoints(folder / "state", **options))


def test_settled_rows_go_to_files_and_a_finished_run_stays_finished(tmp_path: Path) -> None:
    for _ in range(2):
        run = started(tmp_path, query(), every="1ms")
        assert run.wait(PATIENCE_S)
        assert (run.state, run.error) == ("finished", None)
        assert in_parquet(tmp_path / "out") == query().collect().to_pylist()
    assert len(list((tmp_path / "state").glob("0*"))) <= 3


def test_a_graceful_stop_drains_what_was_received_and_the_next_run_resumes(tmp_path: Path) -> None:
    feed = wb.feeds.synthetic(rate=2000, rows=8000, seed=1)
    asked = feed.tumbling_window("100ms").aggregate(n=wb.count())
    run = started(tmp_path, asked)
    until(lambda: run.metrics.rows > 500)
    run.stop()
    assert run.wait(PATIENCE_S)
    assert 0 < sum(row["n"] for row in in_parquet(tmp_path / "out")) < 8000
    later = started(tmp_path, asked)
    assert later.wait(PATIENCE_S)
    assert in_parquet(tmp_path / "out") == asked.collect().to_pylist()


def test_the_end_of_a_block_drains_all_that_were_started_together(tmp_path: Path) -> None:
    feed = wb.feeds.synthetic(rate=2000, rows=100_000)
    asked, other = (feed.tumbling_window(size).aggregate(n=wb.count()) for size in ("100ms", "50ms"))
    run, second = wb.start(asked, other, sinks=[wb.sinks.parquet(tmp_path / "out"), None],
                           checkpoints=wb.Checkpoints(tmp_path / "state", every="1h"))
    with run:
        until(lambda: run.metrics.rows > 500)
    assert (run.state, second.state) == ("stopped", "stopped")
    assert sum(row["n"] for row in in_parquet(tmp_path / "out")) >= 400
    assert len(list((tmp_path / "state").glob("0*"))) == 1


def test_a_drained_run_has_worked_on_all_that_it_received() -> None:
    run = wb.feeds.synthetic(rate=2000, rows=100_000).start()
    until(lambda: run.metrics.rows > 100)
    run.stop(drain=True)
    state, = run.metrics.feeds.values()
    assert run.metrics.rows == state.rows


@pytest.mark.parametrize("harm", ["cut", "bit", "gone"])
def test_a_damaged_checkpoint_is_passed_over_for_an_older_one(tmp_path: Path, harm: str) -> None:
    feed = wb.feeds.synthetic(rate=2000, rows=2000, seed=2)
    asked = feed.tumbling_window("100ms").aggregate(n=wb.count())
    run = started(tmp_path, asked, every="20ms")
    until(lambda: len([*(tmp_path / "state").glob("0*")]) == 3 and run.metrics.settled_rows > 4)
    run.stop()
    assert run.wait(PATIENCE_S)
    newest = max((tmp_path / "state").glob("0*"))
    victim = newest / "step-00.arrow"
    text = victim.read_bytes()
    if harm == "gone":
        victim.unlink()
    else:
        victim.write_bytes(text[:len(text) // 2] if harm == "cut" else text[:99] + bytes([text[99] ^ 1]) + text[100:])
    later = started(tmp_path, asked)
    assert later.skipped_checkpoints == (newest.name,)
    assert later.wait(PATIENCE_S)
    assert in_parquet(tmp_path / "out") == asked.collect().to_pylist()


def test_a_damaged_checkpoint_replaces_none(tmp_path: Path) -> None:
    started(tmp_path, query()).wait(PATIENCE_S)
    (tmp_path / "state" / "000000090").mkdir()
    started(tmp_path, query(), keep=2).wait(PATIENCE_S)
    whole = {each.name for each in (tmp_path / "state").glob("0*")} - {"000000090"}
    assert len(whole) == 2, whole


def test_when_all_are_damaged_nothing_is_done_in_silence(tmp_path: Path) -> None:
    assert started(tmp_path, query()).wait(PATIENCE_S)
    for folder in (tmp_path / "state").glob("0*"):
        (folder / "run.arrow").write_bytes(b"")
    with pytest.raises(CheckpointError, match="checkpoints are damaged"):
        started(tmp_path, query())


def test_what_is_no_checkpoint_is_passed_over_in_its_folder(tmp_path: Path) -> None:
    state = tmp_path / "state"
    for number in range(2):
        run = started(tmp_path, query())
        assert run.wait(PATIENCE_S)
        assert (run.state, run.skipped_checkpoints) == ("finished", ("000000090",) * number)
        (state / "000000090").mkdir(exist_ok=True)
        (state / ".000000091.partial").mkdir()
        for name in ("999", "²"):
            (state / name).touch()
    assert len(list(state.glob(".*.partial"))) == 1
    assert in_parquet(tmp_path / "out") == query().collect().to_pylist()


def test_a_folder_is_of_one_run_at_a_time(tmp_path: Path) -> None:
    feed = wb.feeds.synthetic(rate=100, seed=4)
    asked = feed.tumbling_window("100ms").aggregate(n=wb.count())
    first = started(tmp_path, asked)
    with pytest.raises(CheckpointError, match="Another run uses these checkpoints"):
        started(tmp_path, asked)
    other = ("import sys; from pathlib import Path; from whimbrel.run.folder_lock import locked; "
             "locked(Path(sys.argv[1]))")
    refused = subprocess.run([sys.executable, "-c", other, tmp_path / "state"], capture_output=True, text=True,
                             check=False, timeout=60)
    assert "Another run uses these checkpoints" in refused.stderr
    first.stop()
    assert first.wait(PATIENCE_S)
    later = started(tmp_path, asked)
    later.stop()
    assert later.wait(PATIENCE_S)
    assert later.error is None


def test_a_checkpoint_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = query().start()
    assert run.wait(PATIENCE_S)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(state_folder, "sync_to_disk", full)
    with pytest.raises(CheckpointError, match="No space left"):
        run.checkpoint(tmp_path / "point")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("full", ["out", "state"])
def test_a_disk_that_is_full_when_a_run_starts_is_reported_with_its_folder(tmp_path: Path, full: str) -> None:
    """The system refuses to write the first byte of a file in one of its folders."""
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    if full == "out":  # that of its checkpoints has a name already
        (tmp_path / "state").mkdir()
        (tmp_path / "state" / ".lock").write_text("0123456789abcdef")
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, room[1]))
    try:
        said = f"Cannot write (to )?.*{full}'?.*: File too large"
        with pytest.raises((CheckpointError, SinkError), match=said):
            started(tmp_path, query())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)
    run = started(tmp_path, query())
    assert run.wait(PATIENCE_S)
    assert in_parquet(tmp_path / "out") == query().collect().to_pylist()


@pytest.mark.small_disk
@pytest.mark.fault("any feed", "disk full at checkpoint")
def test_a_disk_that_is_full_for_a_while_costs_no_row(tmp_path: Path) -> None:
    """A file system of 256 KB, mounted for the process alone."""
    (tmp_path / "state").mkdir()
    mounted = 'mount -t tmpfs -o size=256k tmpfs "$2/state" && exec "$0" "$1" "$2"'
    done = subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-c", mounted, sys.executable,
                           full_disk.__file__, str(tmp_path)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    full, later = done.stdout.strip().split("\nfinished ")
    assert full.startswith("running ")
    assert "No space left on device" in full
    assert later == "None"
    assert in_parquet(tmp_path / "out") == full_disk.query().collect().to_pylist()


@pytest.mark.fault("any feed", "disk full at checkpoint")
def test_a_full_disk_at_a_checkpoint_is_reported_and_the_run_continues(tmp_path: Path) -> None:
    """The system refuses to write more of a file than there is room for, in the middle of a checkpoint."""
    feed = wb.feeds.synthetic(rate=2000, rows=2000, seed=3)
    asked = feed.tumbling_window("100ms").aggregate(n=wb.count())
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, room[1]))
    try:
        run = started(tmp_path, asked, every="10ms")
        until(lambda: run.checkpoint_error is not None)
        assert "File too large" in str(run.checkpoint_error)
        assert in_parquet(tmp_path / "out") == []
        assert run.state == "running"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)
    assert run.wait(PATIENCE_S)
    assert (run.state, run.checkpoint_error) == ("finished", None)
    assert in_parquet(tmp_path / "out") == asked.collect().to_pylist()


def test_a_folder_with_rows_of_others_is_not_written_to(tmp_path: Path) -> None:
    assert query().start(sink=wb.sinks.parquet(tmp_path)).wait(PATIENCE_S)
    with pytest.raises(SinkError, match="needs an empty folder"):
        query().start(sink=wb.sinks.parquet(tmp_path))


def test_two_runs_do_not_write_to_one_folder_at_once(tmp_path: Path) -> None:
    asked = wb.feeds.synthetic(rate=1000, rows=3000, speed=10.0).tumbling_window("100ms").aggregate(n=wb.count())
    first = started(tmp_path, asked)
    with pytest.raises(SinkError, match="Another run is writing to this folder"):
        asked.start(sink=wb.sinks.parquet(tmp_path / "out"), checkpoints=wb.Checkpoints(tmp_path / "another"))
    assert first.wait(PATIENCE_S)
    assert in_parquet(tmp_path / "out") == asked.collect().to_pylist()
    with pytest.raises(SinkError, match="needs an empty folder"):
        asked.start(sink=wb.sinks.parquet(tmp_path / "out"), checkpoints=wb.Checkpoints(tmp_path / "another"))


def test_resuming_in_another_folder_is_an_error(tmp_path: Path) -> None:
    assert started(tmp_path, query()).wait(PATIENCE_S)
    for folder in ("fresh", "foreign"):
        if folder == "foreign":
            assert query().start(sink=wb.sinks.parquet(tmp_path / folder)).wait(PATIENCE_S)
        with pytest.raises(SinkError, match="has none of its rows" if folder == "fresh" else "rows of another"):
            query().start(sink=wb.sinks.parquet(tmp_path / folder), checkpoints=wb.Checkpoints(tmp_path / "state"))


@pytest.mark.redis
def test_a_stream_with_entries_of_others_is_not_written_to(tmp_path: Path) -> None:
    with servers.running(servers.redis(tmp_path / "redis")) as red, redis.Redis(port=red.port) as link:
        options: Any = {"sink": wb.sinks.redis("out", f"redis://127.0.0.1:{red.port}"),
                        "checkpoints": wb.Checkpoints(tmp_path / "state")}
        assert query().start(**options).wait(PATIENCE_S)
        count = link.xlen("out")
        assert query().start(**options).wait(PATIENCE_S)  # resumes from its end
        assert link.xlen("out") == count > 0
        for checkpoints in (None, wb.Checkpoints(tmp_path / "another")):
            with pytest.raises(SinkError, match="entries of another run"):
                query().start(sink=options["sink"], checkpoints=checkpoints)
        link.xadd("ours", {"x": 1})
        with pytest.raises(SinkError, match="entries of another run"):
            query().start(sink=wb.sinks.redis("ours", f"redis://127.0.0.1:{red.port}"))


def test_a_checkpoint_of_another_query_is_refused(tmp_path: Path) -> None:
    assert started(tmp_path, query()).wait(PATIENCE_S)
    with pytest.raises(CheckpointError, match="another query"):
        started(tmp_path, query().where(wb.col.total > 3))


def test_what_is_no_period_is_refused() -> None:
    with pytest.raises(PlanError, match="must be a positive duration"):
        wb.Checkpoints("folder", every="0s")
    with pytest.raises(PlanError, match="got 1 for 2 queries"):
        wb.start(query(), query(), sinks=[None])


@pytest.mark.parametrize(("call", "what"), [
    (lambda: query().start(sink="folder"), "sink must be a sink, got str"),
    (lambda: wb.start(query(), sinks="folder"), "sink must be a sink, got str"),
    (lambda: query().start(checkpoints="folder"), "checkpoints must be .*, got str"),
    (lambda: wb.Checkpoints("folder", keep="3"), "keep must be an integer of at least 1, got '3'"),
    (lambda: wb.Checkpoints(5), "folder must be a string or a Path, got 5"),
    (lambda: wb.replay(wb.from_arrow({"at": [1]}, time="at"), clock="x"), "clock must be .*, got str"),
    (lambda: query().start(sink=wb.sinks.parquet(__file__)), "Cannot create the folder")])
def test_what_was_mistaken_is_said_in_words(call: Any, what: str) -> None:
    with pytest.raises((PlanError, SinkError), match=what):
        call()


@pytest.mark.long
@pytest.mark.redis
@pytest.mark.postgres
@pytest.mark.fault("synthetic", "process killed")
@pytest.mark.parametrize("kills", [8, pytest.param(50, marks=pytest.mark.soak)])
def test_killed_at_any_moment_the_settled_rows_are_those_of_an_uncut_run(tmp_path: Path, kills: int) -> None:
    with servers.running(servers.redis(tmp_path / "redis")) as red, \
            servers.running(servers.postgres(tmp_path / "postgres")) as post, _cluster() as address:
        options = {"folder": str(tmp_path), "redis": f"redis://127.0.0.1:{red.port}", "kills": kills, "seed": 11,
                   "postgres": f"postgresql://test@127.0.0.1:{post.port}/postgres",
                   "kafka": address}
        until(lambda: servers.accepts(options["postgres"]))
        assert _went_on(options) >= kills // 2
        uncut = killed.query(kills * killed.ROWS_A_KILL).collect().to_pylist()
        assert _counted(in_parquet(tmp_path / "out")) == _counted(uncut)
        assert _counted(_in_table(options["postgres"])) == _counted(uncut)  # type: ignore[arg-type]
        texts = Counter(text for _, text in json_rows(pa.RecordBatch.from_pylist(uncut)))
        with redis.Redis(port=red.port) as link:
            assert Counter(fields[b"row"] for _, fields in link.xrange("settled")) == texts
        sent = _all_of(options["kafka"], "settled")  # type: ignore[arg-type]
        assert set(sent) == set(texts)


@pytest.mark.fault("kafka", "process killed")
def test_killed_at_any_moment_a_kafka_feed_resumes_at_its_offsets(tmp_path: Path) -> None:
    with _cluster() as address:
        options = {"folder": str(tmp_path), "kafka": address, "topic": "rows", "kills": 4, "seed": 3}
        _went_on(options)
    uncut = killed.query(5 * killed.ROWS_A_KILL).collect().to_pylist()
    assert _counted(in_parquet(tmp_path / "out")) == _counted(uncut)


@pytest.mark.nats
@pytest.mark.postgres
@pytest.mark.fault("nats", "process killed")
@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.soak)])
def test_killed_at_any_moment_a_nats_feed_resumes_and_a_table_has_each_row_once(tmp_path: Path, kills: int) -> None:
    with servers.running(servers.nats(tmp_path / "nats")) as nats, \
            servers.running(servers.postgres(tmp_path / "postgres")) as post:
        options = {"folder": str(tmp_path), "nats": f"nats://127.0.0.1:{nats.port}", "topic": "rows", "kills": kills,
                   "seed": 7, "postgres": f"postgresql://test@127.0.0.1:{post.port}/postgres"}
        until(lambda: servers.accepts(options["postgres"]))  # type: ignore[arg-type]
        assert _went_on(options) >= kills // 2
        uncut = killed.query((kills + 1) * killed.ROWS_A_KILL).collect().to_pylist()
        assert _counted(_in_table(options["postgres"])) == _counted(uncut)  # type: ignore[arg-type]


def _went_on(options: dict[str, Any]) -> int:
    """How many of the killed runs resumed from a checkpoint; the options say how many are killed."""
    done = subprocess.run([sys.executable, killed.__file__, json.dumps(options)], capture_output=True, text=True,
                          check=False, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    counts = json.loads(done.stdout)
    assert counts["killed"] == options["kills"]
    return int(counts["went_on"])


def _in_table(url: str) -> list[dict[str, Any]]:
    names = ("start", "end", "key", "n", "total")
    with psycopg.connect(url) as link:
        found = link.execute('SELECT start, "end", key, n, total FROM settled').fetchall()
    return [dict(zip(names, row, strict=True)) for row in found]


@contextlib.contextmanager
def _cluster() -> Iterator[str]:
    """The cluster that librdkafka brings, while this context is open."""
    producer = confluent_kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none:1", "log_level": 0})
    broker, = producer.list_topics(timeout=10).brokers.values()
    yield f"{broker.host}:{broker.port}"
    del producer


def _counted(found: list[Any]) -> Counter[Any]:
    return Counter(tuple(row[name] for name in ("start", "end", "key", "n", "total")) for row in found)


def _all_of(address: str, topic: str) -> list[bytes]:
    consumer = confluent_kafka.Consumer({"bootstrap.servers": address, "group.id": "check",
                                         "auto.offset.reset": "earliest"})
    partitions = consumer.list_topics(topic).topics[topic].partitions
    consumer.assign([confluent_kafka.TopicPartition(topic, number, confluent_kafka.OFFSET_BEGINNING)
                     for number in partitions])
    found: list[bytes] = []
    quiet = 0
    while quiet < 3:
        came = [message.value() for message in consumer.consume(1000, 0.3) if message.error() is None]
        found += came
        quiet = 0 if came else quiet + 1
    consumer.close()
    return found

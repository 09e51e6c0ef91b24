"""The low level of a query here, the high level elsewhere: together they are the query."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from tests.laws.test_laws import INPUTS
from tests.laws.test_two_levels import QUERIES
from whimbrel import Stream, WhimbrelError, col
from whimbrel.connect.serving import DurableRows
from whimbrel.connect.sinks.committed_files import rows_files
from whimbrel.errors import PlanError, SourceError
from whimbrel.plan import Node
from whimbrel.progressive.plan.query_split import split_query
from whimbrel.run import source_reader
from whimbrel.run.desk import desk_loop
from whimbrel.testing import Query, check_operator, laws

ROWS = 3_000


def table(seed: int = 1, rows: int = ROWS) -> pa.Table:
    chance = np.random.default_rng(seed)
    return pa.table({"at": np.arange(rows) - chance.integers(0, 40, rows), "x": chance.integers(0, 9, rows),
                     "k": pa.array(chance.choice(["a", "b", "ü", None], rows))})


def log(seed: int = 1, name: str = "log") -> Stream:
    return wb.from_arrow(table(seed), time="at", name=name, reorder_latency=40, late="raise")


def counts(source: Stream) -> Stream:
    return source.where(col.x > 2).group_by("k").tumbling_window(100).aggregate(n=wb.count(), s=wb.sum(col.x))


def in_order(rows: pa.Table) -> list[dict[str, Any]]:
    return sorted(rows.to_pylist(), key=repr)


def stored(low: Stream) -> Stream:
    """What a low level makes, read again."""
    return wb.from_arrow(low.collect(), time="start", end="end", name="stored")


@pytest.mark.share(3)
@pytest.mark.parametrize("law", [laws.matches_the_reference, laws.batches_change_nothing,
                                 laws.disorder_changes_nothing, laws.nulls_propagate, laws.empty_input_is_safe],
                         ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", QUERIES)
def test_both_levels_are_the_query(name: str, law: laws.Law) -> None:
    query = Query((QUERIES[name],))

    def build(*streams: Stream) -> Stream:
        whole = query.build(*streams)
        return whole.high(stored(whole.low()))  # type: ignore[no-any-return]

    check_operator(build, *INPUTS[:query.arity], reference=query.reference, laws=[law])


def test_steps_above_the_aggregate_are_high() -> None:
    busy = counts(log()).where(col.n > 5).select("k", mean=col.s / col.n)
    whole = busy.top_k(2, by=col.mean)
    assert in_order(whole.high(stored(whole.low())).collect()) == in_order(whole.collect())
    assert "top_k" not in whole.low().explain()


def test_groups_are_merged_over_several_feeds() -> None:
    sources = log(1, "one"), log(2, "two")
    whole = counts(sources[0].union(sources[1]))
    one, two = (stored(counts(source).low()) for source in sources)
    assert in_order(counts(log()).high(one, two).collect()) == in_order(whole.collect())


@pytest.mark.parametrize("feed", [log(1), "grpc://localhost:8815"], ids=["stream", "address"])
def test_a_feed_is_given_once(feed: Any) -> None:
    with pytest.raises(PlanError, match=r"Feed 3 of high\(\) was given before"):
        counts(log()).high(feed, "grpc://localhost:8816", feed)


def test_punctuations_tell_how_far_time_has_come() -> None:
    rows = pa.table({"at": [1, 5, 12, 38], "x": [7, 0, 0, 0]})
    query = wb.from_arrow(rows, time="at", name="log").where(col.x > 2).tumbling_window(10).aggregate(n=wb.count())
    low = query.low().collect().select(["start", "punctuation", "n.0"]).to_pylist()
    assert {"start": 0, "punctuation": False, "n.0": 1} in low
    assert [row["start"] for row in low] == sorted(row["start"] for row in low)
    assert max((row["start"] for row in low if row["punctuation"]), default=None) in (10, 20, 30)


def test_a_window_is_settled_when_the_low_level_has_passed_it() -> None:
    """No row of a later window is needed: nothing but the first row counts."""
    more = threading.Event()

    def rows() -> Any:
        yield {"at": 1, "x": 7}
        yield {"at": 25, "x": 0}
        more.wait(60)

    feed = wb.feeds.iterator(rows(), schema=pa.schema({"at": pa.int64(), "x": pa.int64()}), time="at")
    query = feed.where(col.x > 2).tumbling_window(10).aggregate(n=wb.count())
    with wb.serve(query.low()) as served, query.high(served.flight, token=served.token).start() as run:
        version = -1
        while not (snapshot := run.snapshot(5, after=version)).settled:
            version = snapshot.version
        assert snapshot.table.slice(0, 1).to_pylist() == [{"start": 0, "end": 10, "n": 1}]
        assert not snapshot.final
        more.set()


def test_sql_has_levels() -> None:
    text = "SELECT tb, k, count(*) AS n, sum(x) AS s FROM log WHERE x > 2 GROUP BY at/100 AS tb, k HAVING count(*) > 5"
    query = wb.sql(text, log=log())
    with wb.serve(query.low()) as served:
        assert in_order(query.high(served.flight, token=served.token).collect()) == in_order(query.collect())


@pytest.mark.parametrize(("build", "words"), [
    (lambda s: s, "no low level, because it has no aggregate"),
    (lambda s: s.tumbling_window(10).aggregate(s=wb.sum(col.x * 2)), r"col.x \* 2 can fail"),
    (lambda s: s.tumbling_window(10).aggregate(s=wb.sum(col.x / 2)), "can fail"),
    (lambda s: s.tumbling_window(10).aggregate(m=wb.median(col.x)), "more than a few numbers"),
    (lambda s: s.tumbling_window(10).aggregate(m=wb.first(col.x)), "partial aggregates of first"),
    (lambda s: s.sliding_window(10).aggregate(n=wb.count()), "no aggregate of tumbling or hopping windows"),
    (lambda s:
     s.tumbling_window(10).aggregate(n=wb.count()).cross_join(s.tumbling_window(10).select("x")),
     "log is also read without it"),
    (lambda s: s.group_by(punctuation=col.k).tumbling_window(10).aggregate(n=wb.count()),
     "cannot have a column 'punctuation'"),
])
def test_a_query_without_a_low_level_says_why(build: Any, words: str) -> None:
    for ask in (lambda: build(log()).low(), lambda: build(log()).high("grpc://127.0.0.1:1")):
        with pytest.raises(WhimbrelError, match=words):
            ask()


def test_another_querys_partial_aggregates_are_refused() -> None:
    served_query = log().group_by("k").tumbling_window(100).aggregate(n=wb.count(), s=wb.sum(col.x))
    for other in (served_query.low(), served_query):
        with wb.serve(other) as served, pytest.raises(WhimbrelError, match="aggregates of its query, got") as no:
            counts(log()).high(served.flight, token=served.token).collect()
        assert "gRPC" not in str(no.value)
    with pytest.raises(WhimbrelError, match=r"no column 's\.0' of the low level"):
        counts(log()).high(stored(log().group_by("k").tumbling_window(100).aggregate(n=wb.count()).low()))
    with pytest.raises(WhimbrelError, match=r"high\(\) needs a feed"):
        counts(log()).high()
    with pytest.raises(WhimbrelError, match="addresses or streams, got int"):
        counts(log()).high(8815)
    with pytest.raises(WhimbrelError, match="are for addresses"):
        counts(log()).high(stored(counts(log()).low()), token="a token")


def test_a_low_level_is_the_same_over_other_sources() -> None:
    """The high level is built over any source with these columns: it is not read."""
    def unread() -> Any:
        raise AssertionError
        yield

    schema = pa.schema({"at": pa.int64(), "x": pa.int64(), "k": pa.string()})
    here = counts(wb.feeds.iterator(unread, schema=schema, time="at", name="elsewhere"))
    there = counts(log())
    with wb.serve(there.low()) as served:
        assert in_order(here.high(served.flight, token=served.token).collect()) == in_order(there.collect())


def test_a_token_is_needed() -> None:
    with wb.serve(counts(log()).low()) as served, pytest.raises(WhimbrelError, match="The token is missing"):
        counts(log()).high(served.flight, token="another one").collect()


@pytest.mark.parametrize(("build", "where"), [
    (lambda: counts(log()).high("grpc://127.0.0.1:1", retry_backoff_s=(0.01, 0.01)), "high('grpc://127.0.0.1:1')"),
    (lambda: wb.from_arrow({"at": [1]}, time="at").then(
        wb.feeds.flight("grpc://127.0.0.1:1", time="at", schema={"at": "int64"}, retry_backoff_s=(0.01, 0.01)),
        keys=["at"], dedup_window=1), "feeds.flight('grpc://127.0.0.1:1')"),
])
def test_a_missing_server_is_an_error_where_nobody_sees_the_state(build: Any, where: str,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (source_reader, sys.modules["whimbrel.run.collect"], desk_loop):
        monkeypatch.setattr(module, "CONNECT_TIMEOUT_S", 0.05)

    def on_desk(query: Stream) -> None:
        desk = wb.desk(*(Stream(Node(source)) for source in query.sources))
        desk.add("a", query)
        desk.run()

    actions: tuple[Callable[[Stream], Any], ...] = (
        lambda query: query.collect(), lambda query: list(query.batches(timeout=0.05)),
        lambda query: list(query.progressive()), on_desk)
    for action in actions:
        with pytest.raises(SourceError, match=r"cannot be reached, after 0 s: failed to connect .* refused") as missing:
            action(build())
        assert missing.value.where == where
        assert missing.value.hint.startswith("Start the server")


def test_a_high_level_is_progressive_in_time_order() -> None:
    query = counts(log())
    high = query.high(stored(query.low()))
    assert "its rows are partial aggregates" in str(split_query(high.node))
    assert in_order(list(high.progressive())[-1].table) == in_order(query.collect())


def test_an_address_that_is_no_uri_is_refused() -> None:
    with pytest.raises(PlanError, match="must be a URI, got 'localhost'"):
        counts(log()).high("localhost")


def test_timeouts_of_batches_are_durations() -> None:
    assert sum(batch.num_rows for batch in counts(log()).batches(timeout=None)) == counts(log()).collect().num_rows
    with pytest.raises(PlanError, match="timeout must be a positive duration, got 0"):
        log().batches(timeout=0)


def test_a_low_level_that_is_stopped_does_not_end_the_high_level(tmp_path: Path) -> None:
    incoming = tmp_path / "in"
    incoming.mkdir()

    def put(first: int) -> None:
        pq.write_table(pa.table({"at": np.arange(first, first + 100), "x": np.arange(100)}), tmp_path / "new")
        (tmp_path / "new").rename(incoming / f"{first:05}.parquet")

    def query() -> Stream:
        feed = wb.feeds.directory(incoming, time="at", schema={"at": "int64", "x": "int64"})
        return feed.tumbling_window(50).aggregate(n=wb.count(), s=wb.sum(col.x))

    def serve(port: int) -> wb.Served:
        return wb.serve(query().low(), flight=port, token="the same token",
                        checkpoints=wb.Checkpoints(tmp_path / "low", every="20ms"))

    def settled(run: wb.Run, rows: int) -> list[int]:
        version = -1
        while (found := run.snapshot(5, after=version)).settled < rows:
            assert run.state == "running", run.error
            version = found.version
        return found.table["n"].to_pylist()[:found.settled]

    put(0)
    served = serve(0)
    port = int(str(served.flight).rpartition(":")[2])
    high = query().high(served.flight, token="the same token", retry_backoff_s=(0.02, 0.1))
    with high.start() as run:
        assert settled(run, 1) == [50]
        served.close()
        put(100)
        with serve(port):
            assert settled(run, 3) == [50, 50, 50]
        run.stop()


def opened(folder: Path, rows: int, token: Any, keep_rows: int = 100) -> DurableRows:
    made = DurableRows(folder, keep_rows)
    made.open(pa.schema({"x": pa.int64()}), rows, token)
    return made


def write(rows: DurableRows, *values: int) -> Any:
    rows.write(pa.record_batch({"x": pa.array(values, pa.int64())}))
    return rows.prepare()


def read(rows: DurableRows, row: int = 0, run: str = "") -> list[int]:
    ended = iter([False] * 50)
    rows.closed = True
    found = [x for _, batch in rows.read(row, lambda: next(ended, True), run) for x in batch["x"].to_pylist()]
    rows.closed = False
    return found


def test_rows_are_served_when_a_checkpoint_has_them(tmp_path: Path) -> None:
    rows = opened(tmp_path, 0, None)
    token = write(rows, 1, 2)
    assert read(rows) == []
    rows.commit(token)
    assert read(rows) == [1, 2]
    lost = write(rows, 3)
    again = opened(tmp_path, 2, token)
    assert again.run == rows.run
    assert read(again) == [1, 2]
    kept = write(again, 4, 5)
    assert kept == ["rows-000000000000002-000000000000004.arrow"] != lost
    again = opened(tmp_path, 4, kept)  # it was killed after the checkpoint, and before it made the rows visible
    assert read(again, 1, rows.run) == [2, 4, 5]


def test_an_older_checkpoint_numbers_rows_anew(tmp_path: Path) -> None:
    rows = opened(tmp_path, 0, None)
    first = write(rows, 1)
    rows.commit(first)
    rows.commit(write(rows, 2))
    older = opened(tmp_path, 1, first)
    assert older.run != rows.run
    assert opened(tmp_path, 1, first).run == older.run
    with pytest.raises(WhimbrelError, match="belongs to an earlier run"):
        read(older, 2, rows.run)
    assert read(older) == [1]


def test_a_new_run_removes_the_rows_of_another(tmp_path: Path) -> None:
    rows = opened(tmp_path, 0, None)
    rows.commit(write(rows, 1))
    new = opened(tmp_path, 0, None)
    assert (read(new), new.run == rows.run) == ([], False)


def test_files_of_evicted_rows_are_removed(tmp_path: Path) -> None:
    rows = opened(tmp_path, 0, None, keep_rows=2)
    for number in range(8):
        token = write(rows, number)
        rows.commit(token)
    assert [file.first for file in rows_files(tmp_path, ".arrow")] == list(range(rows.first, 8))
    with pytest.raises(WhimbrelError, match="Row 0 was evicted"):
        read(rows)
    again = opened(tmp_path, 8, token, keep_rows=2)
    assert again.first == rows.first
    assert read(again, 6, rows.run) == [6, 7]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    rows = opened(tmp_path, 0, None)
    token = write(rows, 1, 2)
    rows.commit(token)
    (tmp_path / token[0]).write_bytes(b"ARROW1")
    with pytest.raises(WhimbrelError, match=r"Rows 0 to 1 of the low level are missing: .* cannot be read"):
        opened(tmp_path, 2, token)

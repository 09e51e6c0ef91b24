"""Progressive answers: every row once whatever the order, intervals that hold, and what can be asked of them."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel import col
from whimbrel.connect.files.parquet_blocks import ParquetExcerpts
from whimbrel.errors import CheckpointError, PlanError
from whimbrel.kernels import tier
from whimbrel.operators.aggregation.pane_batches import PaneParts
from whimbrel.plan import Excerpts

ROWS = 6_000
CHANCE = np.random.default_rng(3)
TABLE = pa.table({
    "at": np.sort(CHANCE.integers(0, 3_000, ROWS)),
    "k": pa.array([("a", "b", "c", None)[which] for which in CHANCE.choice(4, ROWS, p=[0.5, 0.3, 0.15, 0.05])]),
    "i": CHANCE.integers(-50, 1_000, ROWS),
    "x": CHANCE.exponential(10, ROWS),
})
RESULTS = {"n": wb.count(), "total": wb.sum(col.i), "least": wb.min(col.x), "rate": wb.sum(col.i) / wb.count()}
QUERIES = {
    "whole": lambda s: s.group_by("k").tumbling_window(3_000).aggregate(**RESULTS),
    "windows": lambda s: s.where(col.i > 0).group_by("k").tumbling_window(250, label="end").aggregate(**RESULTS),
    "hopping": lambda s: s.group_by("k").hopping_window(500, 100).aggregate(n=wb.count(), total=wb.sum(col.i)),
    "sparse": lambda s: s.where(col.i > 900).hopping_window(40, 10).aggregate(n=wb.count(), most=wb.max(col.i)),
    "ranked": lambda s: s.group_by("k").tumbling_window(500).aggregate(n=wb.count()).top_k(2, by=col.n),
    "nested": lambda s: s.group_by("k").tumbling_window(50).aggregate(n=wb.count()).tumbling_window(1_000)
                         .aggregate(most=wb.max(col.n), rows=wb.sum(col.n)),
    "nested hopping": lambda s: s.hopping_window(100, 50).aggregate(n=wb.count()).tumbling_window(1_000)
                                 .aggregate(most=wb.max(col.n)),
    "joined": lambda s: s.join(s.where(col.i > 990), on="k").tumbling_window(500).aggregate(n=wb.count()),
    "sessions": lambda s: s.group_by("k").session_window(9).aggregate(n=wb.count()).tumbling_window(500).aggregate(
        n=wb.sum(col.n)),
    "kept": lambda s: s.group_by("k").tumbling_window(500).aggregate(
        n=wb.count(), m=wb.median(col.i), most=wb.quantile(col.x, 0.9, interpolation="discrete"),
        kinds=wb.count_distinct(col.i), words=wb.count_distinct(col.k) / wb.count()),
    "overlapping": lambda s: s.hopping_window(500, 100).aggregate(m=wb.median(col.i)),
    "lists": lambda s: s.tumbling_window(500).aggregate(m=wb.median(col.i), all=wb.collect(col.i)),
}


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@pytest.fixture(scope="module")
def log() -> wb.Stream:
    return wb.from_arrow(TABLE, time="at", name="log")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> wb.Stream:
    folder: Path = tmp_path_factory.mktemp("log")
    for number in range(2):
        half = TABLE.slice(number * ROWS // 2, ROWS // 2)
        pq.write_table(half, folder / f"{number}.parquet", row_group_size=190 + 60 * number)
    return wb.read_parquet(folder, time="at")


@settings(max_examples=20)
@given(query=st.sampled_from(sorted(QUERIES)), source=st.sampled_from(["log", "files"]),
       order=st.sampled_from([None, "random", "newest", "oldest"]), seed=st.integers(0, 99), data=st.data())
def test_any_order_and_any_steering_ends_in_the_one_answer(log: wb.Stream, files: wb.Stream, query: str, source: str,
                                                           order: Any, seed: int, data: st.DataObject) -> None:
    asked = QUERIES[query]({"log": log, "files": files}[source])
    order = None if query in ("lists", "overlapping", "sessions") else order
    progress = asked.progressive(every="10%", order=order, seed=seed, block_rows=data.draw(st.sampled_from([100, 333])))
    stop, seen = data.draw(st.integers(1, 12)), 0  # how many answers there are in the order of time, time decides
    for answer in itertools.islice(progress, stop):  # and later on from here
        assert answer.metrics.rows > seen or answer.final
        seen = answer.metrics.rows
        _ = answer.table, answer.summary, answer.relative_error
        if not progress.fallback_reason and data.draw(st.booleans()):
            start = data.draw(st.integers(0, 2_900))
            progress.prioritize(col.k == data.draw(st.sampled_from("abc")), between=(start, start + 400),
                            order=data.draw(st.sampled_from([None, "newest", "random"])))
    assert rows(progress.finish()) == rows(asked.collect())
    assert progress.latest is not None
    assert progress.latest.final
    assert progress.latest.metrics.rows in (ROWS, 2 * ROWS)


def test_every_answer_has_intervals_and_the_last_one_none_left(log: wb.Stream) -> None:
    asked = QUERIES["whole"](log)
    truth = {row["k"]: row for row in asked.collect().to_pylist()}
    *early, last = asked.progressive(every="5%", block_rows=50, seed=1)
    assert [answer.final for answer in early] == [False] * len(early)
    for answer in early:
        for row in answer.table.to_pylist():
            assert row["least_low"] is None
            assert row["least_high"] >= truth[row["k"]]["least"]
            for name in ("n", "total", "rate"):
                low, high = row[f"{name}_low"], row[f"{name}_high"]
                assert (low is None or low <= row[name])
                assert (high is None or row[name] <= high)
    half = early[len(early) // 2]
    assert 0 < half.relative_error < 1
    assert "at every update" in half.summary
    assert (last.relative_error, last.final, last.settled) == (0.0, True, 4)
    for row in last.table.to_pylist():
        assert row["total_low"] == row["total"] == row["total_high"] == truth[row["k"]]["total"]


@pytest.mark.parametrize("data", ("uniform", "Zipf", "clustered by time"))
def test_intervals_hold_at_every_update(data: str) -> None:
    from bench.coverage import coverage

    found = coverage(data, 10, 20)
    assert min(found.covered[name] for name in ("n", "total", "mean")) >= 0.95, found
    assert max(found.widths.values()) < 1.5, found


def test_windows_of_a_preferred_time_are_exact_first(log: wb.Stream) -> None:
    progress = log.tumbling_window(100).aggregate(n=wb.count()).progressive(every=1, block_rows=100, order="random")
    progress.prioritize(between=(1_000, 1_300))
    answers = [next(progress) for _ in range(10)]
    exact = answers[-1].table.slice(0, answers[-1].settled)
    assert {1_000, 1_100, 1_200} <= set(exact["start"].to_pylist())
    assert exact["n_low"].equals(exact["n_high"])


def test_a_column_can_be_preferred_where_rows_of_a_kind_lie_together() -> None:
    table = pa.table({"at": np.arange(1_000), "k": np.arange(1_000) // 100})
    progress = wb.from_arrow(table, time="at").group_by("k").tumbling_window(1_000).aggregate(n=wb.count()).progressive(
        every=1, block_rows=50)
    progress.prioritize(col.k == 7)
    assert [next(progress).table["k"].to_pylist() for _ in range(2)] == [[7], [7]]


def test_row_groups_that_are_left_out_are_no_blocks(files: wb.Stream) -> None:
    def ask(stream: wb.Stream) -> wb.ProgressiveQuery:
        return stream.tumbling_window(3_000).aggregate(n=wb.count()).progressive(every=1, block_rows=100,
                                                                                 order="random")

    assert ask(files).finish()["n"].to_pylist() == [ROWS]  # its footers are known now
    late = files.where(col.at >= 2_400)
    progress = ask(late)
    assert progress.finish()["n"].equals(late.tumbling_window(3_000).aggregate(n=wb.count()).collect()["n"])
    assert progress.block_run.blocks.latest.min() >= 2_400
    assert progress.latest is not None
    assert progress.latest.metrics.rows < ROWS / 2


def test_a_file_of_few_row_groups_is_sampled_from_memory(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "log.parquet", row_group_size=ROWS // 3)
    source = wb.read_parquet(tmp_path / "log.parquet", time="at")
    progress = QUERIES["windows"](source).progressive(at=[0.3])
    answer = next(progress)
    assert (progress.fallback_reason, answer.table["start"].null_count) == ("", 0)
    assert answer.fraction_read is not None
    assert answer.fraction_read < 0.32
    progress.prioritize(between=(1_000, 1_100))
    assert rows(progress.finish()) == rows(QUERIES["windows"](source).collect())


def test_it_stops_by_a_rule_and_resumes(log: wb.Stream) -> None:
    asked = log.tumbling_window(3_000).aggregate(total=wb.sum(col.x))
    progress = asked.progressive(every="1%", block_rows=30)
    *_, stopped = progress.until(error="10%")
    assert stopped.relative_error <= 0.1
    assert not stopped.final
    *_, last = progress
    assert last.final
    assert last.metrics.rows == ROWS
    progress = QUERIES["whole"](log).progressive(every="1%", block_rows=30)
    *_, stopped = progress.until(ranking_stable=2)
    assert [row["k"] for row in stopped.ranking(2)[1]] == ["a", "b"]
    assert not stopped.final
    assert len(list(asked.progressive(every="1%", block_rows=30).until(seconds=1e-9))) == 1


@pytest.mark.parametrize("query", ("whole", "hopping", "ranked", "kept"))
def test_it_is_saved_and_resumed(log: wb.Stream, query: str, tmp_path: Path) -> None:
    asked = QUERIES[query](log)
    whole = asked.progressive(every="10%", block_rows=100, seed=4)
    kept = asked.progressive(every="10%", block_rows=100, seed=4)
    for progress in (whole, kept):
        for _ in range(3):
            next(progress)
        progress.prioritize(between=(500, 900))
    kept.save(tmp_path / "kept")
    later = asked.progressive(every="10%", block_rows=100, resume=tmp_path / "kept")
    there = {answer.metrics.rows: answer.table for answer in later}  # the first one at once, then at the same rows
    here = {answer.metrics.rows: answer.table for answer in whole}
    assert 0 < min(there) - kept.block_run.scan.rows_read <= 100
    assert len(here) >= 6
    assert all(there[rows].equals(table) for rows, table in here.items())
    with pytest.raises(CheckpointError, match="another query"):
        log.tumbling_window(10).aggregate(n=wb.count()).progressive(resume=tmp_path / "kept")
    with pytest.raises(CheckpointError, match="Cannot resume from the file"):
        asked.progressive(resume=tmp_path / "none")


def test_values_of_the_first_group_are_known_when_a_second_one_comes(log: wb.Stream, tmp_path: Path) -> None:
    asked = log.tumbling_window(500).aggregate(kinds=wb.count_distinct(col.i))
    progress = asked.progressive(every="5%", order="oldest", block_rows=100)
    assert next(progress).table.num_rows == 1
    progress.save(tmp_path / "kept")
    for going in (progress, asked.progressive(every="5%", order="oldest", block_rows=100, resume=tmp_path / "kept")):
        *_, last = going
        assert rows(last.table.select(["start", "end", "kinds"])) == rows(asked.collect())


def test_an_answer_is_gone_when_nobody_has_it(log: wb.Stream) -> None:
    """Without the collector of cycles: arrays of a hundred updates were kept until it came."""
    progress = QUERIES["whole"](log).progressive(every="10%", block_rows=100)
    answer = next(progress)
    assert answer.table.num_rows
    sample = weakref.ref(answer.sample)
    gc.disable()
    try:
        answer = next(progress)
        assert sample() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("query", ("whole", "windows", "hopping", "ranked", "joined"))
def test_a_progress_is_gone_when_nobody_has_it(log: wb.Stream, query: str) -> None:
    """Its buffers waited for the collector of cycles, and the next one took fresh memory."""
    gc.disable()
    try:
        for answers in (2, 100):
            progress = QUERIES[query](log).progressive(every="10%")
            for answer in itertools.islice(progress, answers):
                assert answer.table.num_rows
            gone = weakref.ref(progress), weakref.ref(getattr(progress, "states", progress))
            del progress
            assert gone[0]() is None
            if query not in {"hopping", "joined"}:  # panes of the last answer are merged when it is asked for
                assert gone[1]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("query", ("whole", "windows", "hopping", "ranked", "kept"))
def test_an_answer_that_is_looked_at_late_is_what_it_was(log: wb.Stream, query: str) -> None:
    def answers() -> Iterator[tuple[wb.ProgressiveQuery, wb.Estimate]]:
        progress = QUERIES[query](log).progressive(every="10%", block_rows=50, seed=6)
        for number, answer in enumerate(progress):
            yield progress, answer
            if number == 3:
                progress.prioritize(between=(500, 900))
            if number == 6:
                progress.finish()

    def contents(answer: wb.Estimate) -> tuple[pa.Table, str]:
        return answer.table, answer.summary

    at_once = [contents(answer) for _, answer in answers()]
    later = [contents(answer) for answer in [answer for _, answer in answers()][::-1]][::-1]
    assert len(at_once) == 7
    assert later == at_once
    *_, (progress, _) = answers()
    assert progress.latest is not None
    assert rows(progress.finish()) == rows(QUERIES[query](log).collect())


def test_blocks_in_memory_give_the_same_answers_in_fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    log = wb.from_arrow(TABLE.select(["at", "i", "x"]), time="at")
    query = log.where(col.x > 1).group_by("i").tumbling_window(1_000).aggregate(n=wb.count(), mean=wb.mean(col.x))
    taken = []
    take_in = PaneParts.take_in

    def recorded(parts: PaneParts, first: int, stop: int) -> bool:
        taken.append(take_in(parts, first, stop))
        return taken[-1]

    monkeypatch.setattr(PaneParts, "take_in", recorded)
    with tier("fused"):
        found = [answer.table for answer in query.progressive(every="2%")]
        assert len(taken) > 90
        assert all(taken)
        monkeypatch.setattr(PaneParts, "take_in", lambda *_: False)
        expected = [answer.table for answer in query.progressive(every="2%")]
    assert len(found) == len(expected) > 40
    for one, other in zip(found, expected, strict=True):
        assert one.equals(other)


def test_what_merges_states_is_made_once(log: wb.Stream) -> None:
    """It took a twentieth of the time to a first answer."""
    query = QUERIES["whole"](log)
    one, other = (query.progressive(every="10%") for _ in range(2))
    loops = [[loop for _, loop in progress.block_run.split.merging] for progress in (one, other)]
    assert all(made is again for made, again in zip(*loops, strict=True))
    first, tables = next(one), [answer.table for answer in other]
    assert first.table.equals(tables[0])  # states of the one are not those of the other
    assert one.finish().num_rows == tables[-1].num_rows == 4


def test_other_blocks_wait_for_the_first_answer(files: wb.Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were decoded meanwhile, which took processors that whoever waits for a first answer has a use for."""
    expected = []
    monkeypatch.setattr(ParquetExcerpts, "expect", lambda _, blocks: expected.append(len(blocks)))
    progress = QUERIES["whole"](files).progressive(every="1%")
    next(progress)
    assert expected == []
    next(progress)
    assert expected == [5]


def test_blocks_of_estimates_that_nobody_reads_are_merged_together(log: wb.Stream, monkeypatch: Any) -> None:
    """A hundred answers took as long as half of the whole, though a view draws a few in a second."""
    progress = QUERIES["whole"](log).progressive(every="1%", block_rows=50)
    merged = []
    merge, add = progress.block_run.merged, progress.block_run.merged.add
    monkeypatch.setattr(merge, "add", lambda states, drawn: (merged.append(drawn), add(states, drawn)))
    for answer in progress:
        if answer.metrics.rows == 600:
            held = answer
    begun = len(merged)
    assert begun <= 2  # what is read before a sample is drawn, before that begins
    assert answer.table.num_rows == 4
    assert held.table["n_low"].null_count < 4
    found = [None if drawn is None else drawn.before.max() for drawn in merged[begun:]]
    assert len(found) == 2  # no block of the rest says which it was
    assert found[0] > 0
    assert found[1] is None


@pytest.mark.parametrize("stored", ("in memory", "in files", "in few row groups"))
@pytest.mark.parametrize("column", ("i", "k"))
def test_a_query_is_not_resumed_on_rows_that_changed_since(stored: str, column: str, tmp_path: Path) -> None:
    """The rest of a corrected log was added to what had been read of the old one, and the sum was called final."""
    def opened(table: pa.Table) -> wb.Stream:
        if stored == "in memory":
            return wb.from_arrow(table, time="at", name="log")
        pq.write_table(table, tmp_path / "log.parquet", row_group_size=ROWS // (40 if stored == "in files" else 3))
        return wb.read_parquet(tmp_path / "log.parquet", time="at")

    def asked(log: wb.Stream) -> wb.Stream:
        return log.group_by("k").tumbling_window(3_000).aggregate(total=wb.sum(col.i))

    index = TABLE.column_names.index(column)
    changed = pa.concat_tables([TABLE.slice(0, 100).set_column(index, column, TABLE.column(column).slice(200, 100)),
                                TABLE.slice(100)])
    progress = asked(opened(TABLE)).progressive(every="60%", seed=1).prioritize(between=(0, 60))
    next(progress)
    progress.save(tmp_path / "kept")
    again = asked(wb.from_arrow(pa.concat_tables([TABLE.slice(0, 999), TABLE.slice(999)]), time="at", name="log")
                  if stored == "in memory" else wb.read_parquet(tmp_path / "log.parquet", time="at"))
    assert rows(again.progressive(resume=tmp_path / "kept").finish()) == rows(asked(opened(TABLE)).collect())
    with pytest.raises(CheckpointError, match="changed since"):
        asked(opened(changed)).progressive(resume=tmp_path / "kept")


@pytest.mark.parametrize("asked", ({"every": [0.1, 0.5]}, {"every": 0.2}, {"every": True}, {"every": "0%"},
                                   {"every": "1 procent"}, {"every": "0ms"}, {"every": "-5ms"}, {"every": -1},
                                   {"at": 0.5}, {"at": "0.5"}, {"at": [0.0]}, {"at": ["1%"]}))
def test_a_mistake_in_when_estimates_are_due_is_reported_at_once(log: wb.Stream, asked: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        QUERIES["whole"](log).progressive(**asked)


@pytest.mark.parametrize("query", ("whole", "joined"))
def test_answers_come_every_span_of_time_or_at_shares(log: wb.Stream, query: str) -> None:
    """Those in the order of time came at every hundredth, whatever was asked for."""
    asked = QUERIES[query](log)
    assert [answer.final for answer in asked.progressive(every="1h")][-2:] in ([False, True], [True])
    assert len(list(asked.progressive(every="1h"))) <= 2
    shares = [answer.fraction_read for answer in asked.progressive(at=[0.2, 0.6])]
    assert len(shares) <= 3
    assert shares[-1] == 1


def test_what_means_nothing_is_neither_preferred_nor_claimed(log: wb.Stream) -> None:
    progress = QUERIES["whole"](log).progressive(every="1%", block_rows=50)
    answer = next(progress)
    with pytest.raises(PlanError, match="must end after it begins"):
        progress.prioritize(between=(900, 500))
    with pytest.raises(PlanError, match="No row"):
        progress.prioritize(between=(50_000, 60_000))
    claim = answer.compare({"k": "a"}, {"k": "a"}, "n")
    assert "undecided" in claim.summary
    with pytest.raises(PlanError, match="The comparison is undecided"):
        progress.add_claim(claim)
    assert not progress.claims


@pytest.mark.parametrize(("query", "ask", "block"), [("hopping", next, 1), ("hopping", wb.ProgressiveQuery.finish, 1),
                                                     ("whole", next, 3)])
def test_a_query_interrupted_within_a_block_is_resumed(log: wb.Stream, query: str, ask: Any, block: int,
                                                       monkeypatch: Any) -> None:
    """An interrupted cell ended the reading, and what had been estimated was given as exact."""
    asked = QUERIES[query](log)
    progress = asked.progressive(every="10%", block_rows=100)
    next(progress)
    source = progress.block_run.states.source
    begun = []

    def interrupted(first: int, stop: int) -> Any:
        part = source.excerpt(first, stop)

        def read(columns: Any) -> Any:
            begun.append(first)
            if len(begun) < block:
                yield from part.read(columns)
            else:
                yield next(part.read(columns)).slice(0, 7)
                raise KeyboardInterrupt

        return SimpleNamespace(read=read)

    with monkeypatch.context() as patch:
        patch.setattr(progress.block_run.states, "source", SimpleNamespace(
            in_memory=False, remote=True, excerpt=interrupted, extremes=source.extremes,
            excerpts=lambda columns: Excerpts(progress.block_run.states.source, columns)))
        patch.setattr(progress.block_run.states, "_excerpts", None)
        with pytest.raises(KeyboardInterrupt):
            ask(progress)
    assert rows(progress.finish()) == rows(asked.collect())


def test_what_was_kept_at_the_end_is_the_answer(log: wb.Stream, tmp_path: Path) -> None:
    query = QUERIES["whole"](log)
    progress = query.progressive()
    exact = progress.finish()
    progress.save(tmp_path / "kept")
    assert rows(query.progressive(resume=tmp_path / "kept").finish()) == rows(exact)
    answer, = query.progressive(resume=tmp_path / "kept")
    assert answer.final
    assert list(progress) == []


def test_what_is_not_known_is_said_in_words(log: wb.Stream) -> None:
    answer = next(QUERIES["sessions"](log).progressive(every="10%"))
    for name in ("exact", "numbers", "bounds", "errors"):
        with pytest.raises(PlanError, match="This estimate has no intervals"):
            getattr(answer, name)


def test_nothing_is_resumed_in_the_order_of_time(log: wb.Stream, tmp_path: Path) -> None:
    for asked, query in (({"order": "time"}, "whole"), ({}, "sessions")):
        with pytest.raises(PlanError, match="time order"):
            QUERIES[query](log).progressive(resume=tmp_path / "none", **asked)


def test_ranks_of_groups_that_were_not_seen_are_not_certain() -> None:
    rows = 20_000
    table = pa.table({"at": np.arange(rows), "k": np.where(np.arange(rows) >= rows - 3, 2, np.arange(rows) % 3 == 0)})
    log = wb.from_arrow(table, time="at")
    for events, ranks in ((log, 3), (log.where(col.at == rows - 1), 1)):
        query = events.group_by("k").tumbling_window(rows).aggregate(n=wb.count())
        *_, last = query.progressive(every="5%").until(ranking_stable=ranks)
        certain, keys = last.ranking(ranks)
        assert certain
        assert len(keys) == ranks


def test_what_has_no_interval_says_why(log: wb.Stream) -> None:
    for query, why in (("sessions", "its time ranges need rows from all over its source"),
                       ("lists", "collect(col.i) cannot be merged from parts"), ("overlapping", "windows overlap")):
        progress = QUERIES[query](log).progressive(every="50%")
        assert why in next(progress).summary
        with pytest.raises(PlanError, match="time order"):
            progress.prioritize(col.i > 3)
    few = log.tumbling_window(3_000).aggregate(n=wb.count())
    assert "too few for a sample" in few.progressive(block_rows=ROWS // 5).fallback_reason
    assert few.progressive(block_rows=ROWS // 5, order="random").fallback_reason == ""
    with pytest.raises(PlanError, match="cannot be read in the order"):
        log.where(col.i > 3).progressive(order="random")


@pytest.mark.parametrize(("options", "message"), [
    ({"confidence": 1.5}, "`confidence` must be"), ({"order": "sorted"}, "`order` must be"),
    ({"at": [2.0]}, "`at` must hold fractions"), ({"seconds": -1}, "a positive number, got -1"),
    ({"every": 5, "seconds": 1}, "Only one of"), ({"every": "2"}, "percentage"),
])
def test_mistaken_options(log: wb.Stream, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        next(log.tumbling_window(10).aggregate(n=wb.count()).progressive(**options))
    with pytest.raises(PlanError, match="`error` must be a percentage"):
        log.tumbling_window(10).aggregate(n=wb.count()).progressive().until(error="much")


def test_rows_that_do_not_fill_blocks_are_no_surprise_at_the_end() -> None:
    """Blocks of one size but the last, each with the same sum, said that nothing was in doubt, and were wrong."""
    log = wb.from_arrow({"at": list(range(10_000)), "x": [1, 2] * 5_000}, time="at", name="log")
    query = log.tumbling_window(10_000).aggregate(total=wb.sum(col.x))
    for answer in query.progressive(at=[0.1, 0.3, 0.5, 0.8]):
        row, = answer.table.to_pylist()
        assert (row["total_low"] or 0) <= 15_000 <= (row["total_high"] or np.inf)
    assert row["total_low"] is not None

"""Queries over several sources, and aggregates of aggregates: sampled by ranges of time, with intervals."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch, table_from_batches
from whimbrel.clock import INF as INF_TIME
from whimbrel.clock import MIN_TIME
from whimbrel.errors import PlanError, WhimbrelError
from whimbrel.kernels import tier
from whimbrel.progressive.sampling.time_range_blocks import TimeRangeSource
from whimbrel.testing import Query, strategies
from whimbrel.testing.oracle import INF, Event

ROWS, KEYS = 40_000, 40
CHANCE = np.random.default_rng(8)
LOG = pa.table({"at": np.sort(CHANCE.integers(0, 20_000, ROWS)), "k": CHANCE.integers(0, KEYS, ROWS),
                "x": CHANCE.exponential(10, ROWS), "i": CHANCE.integers(-9, 100, ROWS)})
PARTS = pa.table({"since": np.zeros(KEYS, np.int64), "until": np.full(KEYS, 1 << 40), "k": np.arange(KEYS),
                  "kind": np.arange(KEYS) % 4, "price": CHANCE.uniform(1, 5, KEYS)})
QUOTES = pa.table({"at": np.sort(CHANCE.integers(0, 20_000, 9_000)), "k": CHANCE.integers(0, KEYS, 9_000),
                   "quote": CHANCE.uniform(1, 2, 9_000)})


def parts() -> wb.Stream:
    return wb.from_arrow(PARTS, time="since", end="until", name="parts").select("k", "kind", "price")


def quotes() -> wb.Stream:
    return wb.from_arrow(QUOTES, time="at", name="quotes").select("k", "quote")


SUMS = {"n": wb.count(), "total": wb.sum(col.i), "mean": wb.mean(col.x)}
QUERIES = {
    "small side": lambda s: s.join(parts(), on="k").group_by("kind").tumbling_window(20_000).aggregate(
        **SUMS, worth=wb.sum(col.i * col.price)),
    "left": lambda s: s.join(parts().where(col.kind != 2), on="k", how="left").group_by("kind")
                       .tumbling_window(20_000).aggregate(**SUMS),
    "semi": lambda s: s.semi_join(parts().where(col.kind == 1), on="k").tumbling_window(10_000).aggregate(**SUMS),
    "anti": lambda s: s.anti_join(parts().where(col.kind == 1), on="k").tumbling_window(20_000).aggregate(**SUMS),
    "as of": lambda s: s.asof_join(quotes(), on="k", tolerance=500).group_by("k").tumbling_window(20_000).aggregate(
        quoted=wb.count(col.quote), worth=wb.sum(col.x * col.quote)),
    "two logs": lambda s: s.set_duration(50).join(quotes().set_duration(50), on="k").group_by("k")
                           .tumbling_window(20_000).aggregate(n=wb.count(), total=wb.sum(col.i)),
    "union": lambda s: s.select("k").union(quotes().select("k")).group_by("k").tumbling_window(20_000).aggregate(
        n=wb.count()),
    "nested": lambda s: s.group_by("k").tumbling_window(50).aggregate(n=wb.count(), m=wb.mean(col.x)).where(col.n > 1)
                         .group_by("k").tumbling_window(20_000).aggregate(rows=wb.count(), n=wb.sum(col.n),
                                                                          mean=wb.mean(col.m), most=wb.max(col.n)),
    "nested hopping": lambda s: s.hopping_window(60, 20).aggregate(n=wb.count()).hopping_window(4_000, 2_000)
                                 .aggregate(mean=wb.mean(col.n), most=wb.max(col.n)),
    "nested thrice": lambda s: s.group_by("k").tumbling_window(10).aggregate(n=wb.count()).tumbling_window(50)
                                .aggregate(most=wb.max(col.n)).tumbling_window(20_000).aggregate(mean=wb.mean(col.most)),
    "with an aggregate": lambda s: s.asof_join(s.tumbling_window(100, label="end").aggregate(usual=wb.mean(col.x)),
                                               tolerance=500)
                                    .where(col.x > 2 * col.usual).group_by("k").tumbling_window(20_000)
                                    .aggregate(n=wb.count()).top_k(5, by=col.n),
    "items": lambda s: s.explode("digit", [col.i % 10, col.i // 10]).group_by("digit").tumbling_window(20_000)
                        .aggregate(n=wb.count()),
    "pattern": lambda s: s.group_by("k").detect(wb.sequence(a=col.x > 20, b=col.x < 2), within=200)
                          .tumbling_window(20_000).aggregate(n=wb.count()),
    "names": lambda s: s.group_by("k").tumbling_window(5_000, label="end").aggregate(
        n=wb.count(), mean=wb.mean(col.x)).join(parts(), on="k").where(col.kind != 3)
                        .select("k", "kind", rows=col.n, mean=col.mean, double=col.n * 2),
    "names of joined": lambda s: s.join(parts(), on="k").group_by("k").tumbling_window(20_000, label="end").aggregate(
        worth=wb.sum(col.x * col.price)).asof_join(quotes(), on="k").semi_join(parts().where(col.kind == 1), on="k"),
    "median": lambda s: s.join(parts(), on="k").tumbling_window(20_000).aggregate(
        m=wb.median(col.price), kinds=wb.count_distinct(col.i)),
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, wb.Stream]:
    folder = tmp_path_factory.mktemp("log")
    pq.write_table(LOG, folder / "fine.parquet", row_group_size=150)
    pq.write_table(LOG, folder / "coarse.parquet", row_group_size=9_000)
    return {"memory": wb.from_arrow(LOG, time="at", name="log"),
            "files": wb.read_parquet(folder / "fine.parquet", time="at"),
            "few row groups": wb.read_parquet(folder / "coarse.parquet", time="at")}


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """In order; sums of floats up to their last digits."""
    return sorted((tuple(float(f"{each:.9g}") if isinstance(each, float) else each for each in row.values())
                   for row in table.to_pylist()), key=repr)


@pytest.mark.share(8)
@pytest.mark.parametrize("source", ("memory", "files", "few row groups"))
@pytest.mark.parametrize("query", sorted(QUERIES))
def test_any_steering_ends_in_the_one_answer(sources: dict[str, wb.Stream], query: str, source: str,
                                             tmp_path: Path) -> None:
    asked = QUERIES[query](sources[source])
    exact = asked.collect()
    progress = asked.progressive(every="4%", seed=3)
    assert progress.fallback_reason == ""
    early = list(itertools.islice(progress, 9))
    assert all(answer.table.num_rows for answer in early)
    progress.prioritize(between=(12_000, 13_000))
    _ = next(progress).table
    progress.save(tmp_path / "kept")
    again = asked.progressive(every="50%", seed=3, resume=tmp_path / "kept")
    progress.prioritize(order="newest")
    _ = next(progress)
    assert rows(progress.finish()) == rows(again.finish()) == rows(exact)
    for answer in (progress.latest, again.latest):
        assert answer is not None
        assert (answer.final, answer.metrics.rows) == (True, ROWS)


@pytest.mark.share(12)
@pytest.mark.parametrize("query", ("small side", "as of", "two logs", "nested", "nested hopping", "with an aggregate",
                                   "names", "names of joined"))
def test_intervals_hold_at_every_update(sources: dict[str, wb.Stream], query: str) -> None:
    """Of the paths of values over all updates, each of 12 shuffles of the ranges; bench H counts a thousand."""
    asked = QUERIES[query](sources["memory"])
    keys = [name for name in ("start", "k", "kind", "digit", "rank") if name in asked.collect().column_names]
    truth = {tuple(row[key] for key in keys): row for row in asked.collect().to_pylist()}
    columns = next(asked.progressive(every="4%")).table.column_names
    values = [name for name in asked.schema.names if f"{name}_low" in columns]
    false, given, fractions = 0, 0, [0.1, 0.3, 0.5, 0.7, 0.95]
    for seed in range(12):
        missed, had = set(), set()
        for answer in asked.progressive(at=fractions, seed=seed):
            for row in answer.table.to_pylist():
                true = truth.get(tuple(row[key] for key in keys))
                for name in values:
                    low, high = row[f"{name}_low"], row[f"{name}_high"]
                    if true is not None and low is not None and high is not None and not answer.final:
                        path = tuple(row[key] for key in keys), name
                        had.add(path)
                        if not low - 1e-9 * abs(low) <= true[name] <= high + 1e-9 * abs(high):
                            missed.add(path)
        false, given = false + len(missed), given + len(had)
    assert given >= 12
    assert false <= max(2, 0.05 * given), (false, given)


def test_the_bound_at_half_is_that_of_a_sample_of_the_ranges(sources: dict[str, wb.Stream]) -> None:
    """As wide as where rows stand for themselves: a join with the price list changes nothing of that."""
    plain = sources["memory"].with_columns(kind=col.k % 4).group_by("kind").tumbling_window(20_000).aggregate(**SUMS)
    joined = sources["memory"].join(parts(), on="k").group_by("kind").tumbling_window(20_000).aggregate(**SUMS)
    one, other = (next(query.progressive(at=[0.5], seed=1)) for query in (plain, joined))
    for name in SUMS:
        assert other.error_of(name) == pytest.approx(one.error_of(name), rel=0.3)
        assert other.error_of(name) < 0.05


def test_what_grows_with_a_join_is_not_bounded_by_its_rows() -> None:
    """A block may have more pairs than rows: that there are no more of them than rows left would be false."""
    chance = np.random.default_rng(1)
    log = wb.from_arrow({"at": np.arange(8_000), "k": chance.integers(0, 3, 8_000)}, time="at", name="log")
    many = wb.from_arrow({"at": [0] * 60, "until": [9_000] * 60, "k": [0] * 55 + [1] * 5}, time="at", end="until",
                         name="many").select("k")
    query = log.select("k").join(many, on="k").group_by("k").tumbling_window(8_000).aggregate(
        n=wb.count(), kinds=wb.count_distinct(col.k))
    truth = {row["k"]: row["n"] for row in query.collect().to_pylist()}
    assert sum(truth.values()) > 8_000
    for answer in query.progressive(every="5%", seed=2):
        for row in answer.table.to_pylist():
            assert row["n_low"] <= truth[row["k"]]
            assert row["n_high"] is None or truth[row["k"]] <= row["n_high"]
        if not answer.final:
            assert not answer.ranking(1)[0] or answer.ranking(1)[1] == [{"k": 0}]


def test_what_has_not_varied_may_be_unlike_in_blocks_that_were_missed() -> None:
    """Each range has ten windows: so may others have, up to as many as fit. Of pairs nobody knows how many may be."""
    log = wb.from_arrow({"at": np.arange(20_000), "k": np.zeros(20_000, np.int64)}, time="at", name="log")
    windows = log.tumbling_window(10).aggregate(n=wb.count()).tumbling_window(20_000).aggregate(windows=wb.count())
    row, = next(windows.progressive(at=[0.5])).table.to_pylist()
    assert row["windows_low"] < 2_000 < row["windows_high"] < 2_200
    one = wb.from_arrow({"at": [0], "end": [30_000], "k": [0]}, time="at", end="end", name="one").select("k")
    pairs = log.join(one, on="k").tumbling_window(20_000).aggregate(n=wb.count())
    row, = next(pairs.progressive(at=[0.5])).table.to_pylist()
    assert (row["n"], row["n_high"]) == (20_000, None)
    assert row["n_low"] >= 9_000


def test_a_history_in_the_order_of_arrival_is_sorted_first() -> None:
    chance = np.random.default_rng(6)
    came = LOG.append_column("came", pa.array(LOG["at"].to_numpy() + chance.integers(0, 300, ROWS))).sort_by("came")
    log = wb.from_arrow(came, time="at", arrival="came", name="log").drop("came")
    for query in ("small side", "nested", "with an aggregate"):
        progress = QUERIES[query](log).progressive(every="10%")
        assert progress.fallback_reason == ""
        assert all("others within" in answer.summary for answer in itertools.islice(progress, 8, 9))
        assert rows(progress.finish()) == rows(QUERIES[query](log).collect())


def test_what_no_range_of_time_is_enough_for_is_answered_in_the_order_of_time(sources: dict[str, wb.Stream]) -> None:
    log = sources["memory"]
    for query in (log.group_by("k").session_window(30).aggregate(n=wb.count()).tumbling_window(500).aggregate(
                      n=wb.sum(col.n)),
                  log.set_duration(None).join(quotes(), on="k").tumbling_window(500).aggregate(n=wb.count())):
        progress = query.progressive(every="20%")
        assert "from all over its source" in progress.fallback_reason
        assert rows(progress.finish()) == rows(query.collect())
    with pytest.raises(PlanError, match="from all over its source"):
        log.set_duration(None).join(quotes(), on="k").tumbling_window(500).aggregate(n=wb.count()).progressive(
            order="random")


def test_a_log_is_not_read_to_know_that_ranges_will_not_do(sources: dict[str, wb.Stream],
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.progressive.sampling.range_source.InMemorySource", None)
    query = sources["few row groups"].group_by("k").session_window(30).aggregate(n=wb.count()).tumbling_window(
        500).aggregate(n=wb.sum(col.n))
    assert "from all over its source" in query.progressive().fallback_reason


def test_rows_out_of_order_are_an_error_in_their_range(sources: dict[str, wb.Stream]) -> None:
    times = LOG["at"].to_numpy().copy()
    times[[17_000, 17_001]] = times[17_001] + 1, times[17_000]
    log = wb.from_arrow(LOG.set_column(0, "at", pa.array(times)), time="at", name="log")
    with pytest.raises(WhimbrelError, match="late"):
        QUERIES["small side"](log).progressive().finish()


def test_a_side_that_is_not_in_order_is_read_whole(sources: dict[str, wb.Stream]) -> None:
    shuffled = QUOTES.take(np.random.default_rng(2).permutation(QUOTES.num_rows)).slice(0, 500)
    shuffled = shuffled.append_column("came", pa.array(np.arange(500)))
    side = wb.from_arrow(shuffled, time="at", arrival="came", name="quotes")
    query = sources["memory"].asof_join(side.select("k", "quote"), on="k").tumbling_window(20_000).aggregate(
        quoted=wb.count(col.quote))
    progress = query.progressive(every="10%")
    assert progress.fallback_reason == ""
    assert rows(progress.finish()) == rows(query.collect())


# What all of this stands on: ranges of any query's answer together are all of it.


def stream(facts: list[Event], name: str) -> wb.Stream:
    columns = {"time": pa.int64(), "key": pa.string(), "k2": pa.int64(), "x": pa.int64(), "y": pa.float64(),
               "flag": pa.bool_()}
    facts = sorted(facts, key=lambda fact: fact[0])
    table = {called: pa.array([payload[called] for _, _, payload in facts], type_)
             for called, type_ in columns.items()}
    ends = pa.array([None if end == INF else end for _, end, _ in facts], pa.int64())
    return wb.from_arrow(pa.table(table | {"until": ends}), time="time", end="until", name=name).drop("until")


def starts(batches: list[Batch], schema: Any) -> Counter[str]:
    table = table_from_batches(schema, batches)
    return Counter(repr(row) for row in table.drop_columns(["end"]).to_pylist())


@settings(max_examples=60)
@given(strategies.queries(max_steps=5, ordered=True), strategies.facts(), strategies.facts(max_size=6),
       st.lists(st.integers(-20, 60), max_size=4))
def test_ranges_of_random_queries_are_the_whole_together(query: Query, s: list[Event], t: list[Event],
                                                         cuts: list[int]) -> None:
    asked = query.build(*[stream(facts, name) for facts, name in zip((s, t), "st", strict=True)][:query.arity])
    with tier("interpreted"):
        try:
            whole = asked.collect()
        except WhimbrelError:
            return
        assume(all(source.rows for source in asked.node.sources()))
        ranged = TimeRangeSource(asked.node)
        names = asked.node.schema.names
        together = [batch for start, end in itertools.pairwise([MIN_TIME, *sorted(cuts), INF_TIME])
                    for batch in ranged.read_range(names, start, end)]
    assert starts(together, ranged.schema) == Counter(
        repr(row) for row in whole.drop_columns(["end"]).to_pylist())

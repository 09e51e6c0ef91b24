"""Intervals that allow for late rows: at every update, with rows that were not read, and not for ever."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.disorder import Arrived

WINDOW, BEFORE = 1_000, 120
VALUES = {"n": wb.count(), "rare": wb.count().where(col.x > 4), "total": wb.sum(col.x), "mean": wb.mean(col.x)}


def came(seed: int, windows: int, *, kind: str = "jitter", rows: int = 300) -> pa.Table:
    """Rows in the order in which they came: some are late each for itself, or many at once, after outages."""
    chance = np.random.default_rng(seed)
    count, span = windows * rows, windows * WINDOW
    at = np.sort(chance.integers(0, span, count))
    delay = chance.exponential(300, count) * (chance.random(count) < 0.3)
    if kind == "outages":
        for begin in chance.integers(0, span, windows // 8).tolist():
            until = begin + chance.exponential(WINDOW / 3)
            held = (at >= begin) & (at < until) & (chance.random(count) < 0.5)
            delay = np.where(held, np.maximum(delay, until - at), delay)
    key = chance.choice(3, count, p=[0.6, 0.3, 0.1])
    if kind == "uploads":
        delay = np.where(key == 2, chance.exponential(1_000, count), delay)
    seen = at + delay.astype(np.int64)
    table = pa.table({"at": at, "seen": seen, "k": key, "x": chance.normal(2, 1, count)})
    return table.take(np.argsort(seen, kind="stable"))


def log(table: pa.Table, name: str = "log") -> wb.Stream:
    return wb.from_arrow(table, time="at", arrival="seen", name=name)


def model_and_rest(seed: int, after: int, *, by: str | None = None,
                   **options: Any) -> tuple[wb.stream.Lateness, pa.Table]:
    """The lateness of the rows that came until a time, and the rows that came after it."""
    table = came(seed, BEFORE + after, **options)
    cut = int(np.searchsorted(np.maximum.accumulate(table["at"].to_numpy()), BEFORE * WINDOW))
    return wb.lateness(log(table.slice(0, cut), "before"), by=by), table.slice(cut)


def live(rows: wb.Stream, **options: Any) -> wb.Stream:
    """The same rows, a few at a time."""
    return wb.replay(rows, speed=float("inf"), every=50, **{"reorder_latency": 100_000, **options})


class Paths:
    """Of each value of each window, over all updates: whether an interval was false, and whether one had two ends."""

    def __init__(self) -> None:
        self.false: dict[Any, bool] = defaultdict(bool)
        self.given: dict[Any, bool] = defaultdict(bool)

    def add(self, seed: int, table: pa.Table, truth: dict[Any, dict[str, Any]]) -> None:
        for row in table.to_pylist():
            key = row["start"], row.get("k")
            if row["start"] < (BEFORE + 1) * WINDOW:  # some of its rows came before
                continue
            for name in VALUES:
                low, high, true = row[f"{name}_low"], row[f"{name}_high"], truth[key][name]
                close = 1e-9 * abs(true)
                self.false[seed, key, name] |= (low is not None and true < low - close) or (
                    high is not None and true > high + close)
                self.given[seed, key, name] |= low is not None and high is not None and low < high

    def held(self, name: str | None = None, key: int | None = None) -> float:
        """Of the paths with an interval of two ends at some update, of all or of one value and key."""
        given = [path for path, there in self.given.items() if there and (
            name is None or (path[1][1], path[2]) == (key, name))]
        return 1 - sum(self.false[path] for path in given) / len(given)


def by_key(table: pa.Table) -> dict[Any, dict[str, Any]]:
    return {(row["start"], row.get("k")): row for row in table.to_pylist()}


@pytest.mark.share(8)
@pytest.mark.parametrize("keys", ((), ("k",)), ids=("all", "groups"))
@pytest.mark.parametrize("kind", ("jitter", "outages"))
def test_intervals_of_a_feed_hold_at_all_updates_together(kind: str, keys: tuple[str, ...]) -> None:
    paths = Paths()
    for seed in range(10):
        late, rest = model_and_rest(seed, 10, kind=kind)
        rows = log(rest)
        query = (rows.group_by(*keys) if keys else rows).tumbling_window(WINDOW).aggregate(**VALUES)
        truth = by_key(query.collect())
        for answer in query.on(live(rows)).progressive(every=60, late=late):
            if not answer.final:
                paths.add(seed, answer.table, truth)
    assert sum(paths.given.values()) > 0.7 * len(paths.given)
    assert paths.held() >= 0.95


def test_kinds_of_rows_that_are_late_in_their_own_way_have_models_of_their_own() -> None:
    """One of the keys is much later than the others, so that late rows are not like those that came."""
    held = {}
    for by in (None, "k"):
        paths = Paths()
        for seed in range(4):
            late, rest = model_and_rest(seed, 8, kind="uploads", by=by)
            rows = log(rest)
            query = rows.group_by("k").tumbling_window(WINDOW).aggregate(**VALUES)
            truth = by_key(query.collect())
            for answer in query.on(live(rows)).progressive(every=60, late=late):
                if not answer.final:
                    paths.add(seed, answer.table, truth)
        held[by] = paths.held("n", key=2)
    assert held[None] < 0.8
    assert held["k"] >= 0.95


def test_a_kind_that_the_model_does_not_know_has_no_interval() -> None:
    late, rest = model_and_rest(1, 6, by="k")
    strange = rest.set_column(2, "k", pa.array(rest["k"].to_numpy() + 1))
    for asked in (log(strange), live(log(strange))):
        query = log(strange).group_by("k").tumbling_window(WINDOW).aggregate(n=wb.count()).on(asked)
        *_, answer = (answer for answer in query.progressive(every=1_200, late=late) if not answer.final)
        known = {row["k"]: row["n_high"] is not None for row in answer.table.to_pylist()
                 if row["start"] < (BEFORE + 2) * WINDOW and not (row["start"] < (BEFORE + 1) * WINDOW)}
        assert known == {1: True, 2: True, 3: False}


def test_one_interval_covers_what_was_not_read_and_what_has_not_come() -> None:
    paths = Paths()
    sampled = missed = 0
    for seed in range(12):
        late, rest = model_and_rest(seed, 8, kind="outages", rows=1_200)
        stop = rest.num_rows * 3 // 4
        query = log(rest).tumbling_window(WINDOW).aggregate(**VALUES)
        truth = by_key(query.collect())
        there = query.on(log(rest.slice(0, stop)))
        for answer in there.progressive(at=[0.3, 0.5, 0.8], late=late, seed=seed, block_rows=64):
            paths.add(seed, answer.table, truth)
        assert answer.all_read
        assert not answer.final
        *_, now = there.progressive(at=[0.5], seed=seed, block_rows=64)
        for row in now.table.to_pylist()[-3:-1]:
            sampled += 1
            missed += truth[row["start"], None]["n"] > row["n_high"]
    assert missed > sampled / 2  # intervals that speak of the rows there are do not speak of those that come
    assert paths.held() >= 0.95


def test_the_end_is_exact_and_so_is_what_no_late_row_reaches() -> None:
    late, rest = model_and_rest(3, 12)
    query = log(rest).tumbling_window(WINDOW).aggregate(**VALUES)
    truth = query.collect()
    exact = 0
    for answer in query.on(live(log(rest), reorder_latency=20_000)).progressive(every=200, late=late):
        known = answer.table.slice(0, answer.settled)
        exact = max(exact, 0 if answer.final else known.num_rows)
        for name in VALUES:
            if not answer.final:
                assert known[f"{name}_low"].equals(known[f"{name}_high"])
    assert answer.final
    assert answer.table.sort_by("start").select(truth.column_names).equals(truth)
    assert exact >= 5
    progress = query.progressive(every="20%", late=late, block_rows=64)
    next(progress)
    finished = progress.finish()
    assert finished.column_names == truth.column_names
    for name in truth.column_names:
        assert finished[name].to_numpy() == pytest.approx(truth[name].to_numpy())


def test_all_answers_of_a_feed_have_the_same_columns() -> None:
    """Those of the last one, which is exact, were missing."""
    late, rest = model_and_rest(1, 3)
    query = log(rest).tumbling_window(WINDOW).aggregate(n=wb.count(), m=wb.mean(col.x), most=wb.max(col.x))
    answers = list(query.on(live(log(rest))).progressive(every=200, late=late))
    last = answers[-1].table
    assert answers[-1].final
    for answer in answers:
        assert answer.table.schema.equals(last.schema)
    for name in ("n", "m", "most"):
        for end in ("low", "high"):
            assert last[f"{name}_{end}"].to_pylist() == last[name].to_pylist()


def test_values_are_scaled_by_what_is_expected() -> None:
    """Of ten rows one is late by more than a window: what came is 9 in 10 until it has."""
    at = np.arange(200_000)
    at = np.where(at % 10 == 0, np.maximum(at - 2_500, 0), at)
    late = wb.lateness(wb.from_arrow({"at": at, "seen": np.arange(200_000)}, time="at", arrival="seen"))
    rest = wb.from_arrow({"at": at[20_000:30_000], "seen": np.arange(10_000), "x": np.ones(10_000)}, time="at",
                         arrival="seen", name="rest")
    query = rest.tumbling_window(WINDOW).aggregate(n=wb.count(), total=wb.sum(col.x), mean=wb.mean(col.x))
    *_, answer = (answer for answer in query.on(live(rest)).progressive(every=50, late=late)
                  if not answer.final and answer.metrics.newest <= 24_500)
    row = {row["start"]: row for row in answer.table.to_pylist()}[23_000]
    assert row["n_low"] == 900
    assert row["n"] == 1000
    assert 1000 <= row["n_high"] <= 1020
    assert row["total"] == pytest.approx(1000, rel=2e-3)
    assert row["mean_low"] is None  # nothing has varied
    assert "in the newest 3 windows, 6.8% of the rows are expected to be late, at most 8" in answer.summary


def test_rows_that_are_dropped_are_not_waited_for() -> None:
    at = np.arange(200_000)
    at = np.where(at % 10 == 0, np.maximum(at - 2_500, 0), at)
    late = wb.lateness(wb.from_arrow({"at": at, "seen": np.arange(200_000)}, time="at", arrival="seen"))
    rest = wb.from_arrow({"at": at[20_000:30_000], "seen": np.arange(10_000)}, time="at", arrival="seen", name="rest")
    query = rest.tumbling_window(WINDOW).aggregate(n=wb.count())
    for answer in query.on(live(rest, reorder_latency=2_000, late="drop")).progressive(every=50, late=late):
        for row in [] if answer.final else answer.table.to_pylist()[2:-1]:
            assert row["n"] == row["n_low"] == row["n_high"] == 900


def test_without_a_model_nothing_changes() -> None:
    """A model of late rows does not change the intervals of windows that no late row reaches."""
    late, rest = model_and_rest(5, 30)
    query = log(rest).tumbling_window(WINDOW).aggregate(**VALUES)
    for with_late, without in zip(query.progressive(at=[0.3, 0.6], seed=1, block_rows=64, late=late),
                                  query.progressive(at=[0.3, 0.6], seed=1, block_rows=64), strict=True):
        if not without.final:
            old = pa.compute.less(without.table["start"], (BEFORE + 20) * WINDOW)
            assert with_late.table.sort_by("start").filter(old).equals(without.table.sort_by("start").filter(old))


@pytest.mark.parametrize(("values", "low", "high"), (
    (wb.max(col.x), True, False), (wb.min(col.x), False, True), (wb.count_distinct(col.k), True, False),
    (wb.sum(col.x) / wb.count(), False, False), (wb.var(col.x), False, False), (wb.median(col.x), False, False)),
    ids=("max", "min", "distinct", "ratio", "variance", "median"))
def test_of_other_values_no_more_is_said_than_is_certain(values: Any, low: bool, high: bool) -> None:
    late, rest = model_and_rest(3, 6)
    query = log(rest).tumbling_window(WINDOW).aggregate(v=values)
    for asked, options in ((query.on(live(log(rest))), {"every": 300}), (query, {"at": [0.9], "block_rows": 64})):
        answers = [answer for answer in asked.progressive(late=late, **options) if not answer.final]
        rows = answers[-1].table.slice(answers[-1].settled)
        assert rows.num_rows >= 2
        assert not answers[-1].bounded("v")
        assert rows["v_low"].null_count == (0 if low else len(rows))
        assert rows["v_high"].null_count == (0 if high else len(rows))


def test_too_few_windows_say_nothing_and_words_say_so() -> None:
    late, rest = model_and_rest(3, 6)
    query = log(rest).tumbling_window(WINDOW * 4).aggregate(n=wb.count())
    *_, answer, _ = query.on(live(log(rest))).progressive(every=300, late=late)
    assert answer.table["n_high"].null_count == len(answer.table) - answer.settled
    assert "no upper bound: the model has" in answer.summary
    assert "and 49 are needed" in answer.summary
    assert answer.settled == 0
    nothing = wb.lateness(log(rest.slice(0, 0)))
    *_, answer, _ = query.on(live(log(rest))).progressive(every=300, late=nothing)
    assert answer.settled == 0
    assert "the model has 0 complete windows" in answer.summary
    assert nothing.missing(WINDOW, after=[0])["at_most"].to_pylist() == [None]


def test_comparisons_and_rankings_allow_for_late_rows() -> None:
    late, rest = model_and_rest(8, 6, rows=1_500)
    stop = rest.num_rows * 3 // 4
    query = log(rest.slice(0, stop)).group_by("k").tumbling_window(WINDOW).aggregate(n=wb.count())
    for with_late, without in zip(query.progressive(at=[0.8], late=late, block_rows=64),
                                  query.progressive(at=[0.8], block_rows=64), strict=True):
        start = without.table["start"].to_pylist()[-1] - WINDOW
        rows = {"start": start, "k": 0}, {"start": start, "k": 1}
        assert 0.5 < with_late.compare(*rows).confidence < 1
        assert with_late.compare(*rows).confidence <= without.compare(*rows).confidence
        with_late.ranking(2)
    assert without.final
    assert without.compare(*rows).confidence == 1


def test_it_is_saved_and_resumed(tmp_path: Any) -> None:
    late, rest = model_and_rest(8, 6)
    query = log(rest).tumbling_window(WINDOW).aggregate(**VALUES)
    progress = query.progressive(at=[0.3, 0.6], late=late, block_rows=64)
    next(progress)
    progress.save(tmp_path / "kept")
    on = query.progressive(at=[0.6], late=late, block_rows=64, resume=tmp_path / "kept")
    assert next(on).table.equals(next(progress).table)
    with pytest.raises(wb.WhimbrelError, match="another query"):
        query.progressive(at=[0.6], block_rows=64, resume=tmp_path / "kept")


def test_intervals_go_through_conditions_and_hopping_windows() -> None:
    late, rest = model_and_rest(4, 10)
    hops = log(rest).hopping_window(2 * WINDOW, WINDOW).aggregate(n=wb.count(), x=wb.mean(col.x)).where(col.n > 5)
    truth = {row["start"]: row for row in hops.collect().to_pylist()}
    for asked, options in ((hops.on(live(log(rest))), {"every": 300}), (hops, {"every": "10%", "block_rows": 64})):
        given = 0
        for answer in asked.progressive(late=late, **options):
            assert answer.table.column_names[:3] == ["start", "end", "n"]
            assert not [name for name in answer.table.column_names if ":" in name or name == "rows of the window"]
            for row in answer.table.to_pylist():
                if not answer.final and row["start"] > (BEFORE + 1) * WINDOW and row["n_high"] is not None:
                    given += row["n_low"] < row["n_high"]
                    assert row["n_low"] <= truth[row["start"]]["n"] <= row["n_high"]
        assert given > 5


def refused() -> Iterator[Any]:
    late, rest = model_and_rest(1, 3)
    rows = log(rest)
    query = rows.tumbling_window(WINDOW).aggregate(n=wb.count())
    yield pytest.param(query, "yesterday", "got str", id="no model")
    yield pytest.param(query, rows, "got Stream", id="a log")
    sessions = rows.session_window(5).aggregate(n=wb.count())
    yield pytest.param(sessions, late, "not over tumbling or hopping", id="sessions")
    yield pytest.param(rows.where(col.x > 0), late, "no aggregate over windows", id="no window")
    yield pytest.param(query.tumbling_window(5 * WINDOW).aggregate(n=wb.max(col.n)), late, "neither where",
                       id="windows of windows")
    lasting = rows.set_duration(5).tumbling_window(WINDOW).aggregate(n=wb.count())
    yield pytest.param(lasting, late, "may move rows in time", id="moved in time")
    parts = wb.from_arrow(rest, time="at", name="parts", partition=wb.PartitionWatermarks(by="k", max_lag=9_000),
                          reorder_latency=50,
                          late="drop")
    yield pytest.param(query.on(parts), late, "parts has a watermark for each partition", id="partitions")
    yield pytest.param(query, wb.lateness(parts), "parts has a watermark per partition", id="model of partitions")
    moved = wb.from_arrow(rest, time="at", name="moved", reorder_latency=50, late="adjust")
    yield pytest.param(query.on(moved), late, "moves late rows to other windows", id="adjusted")
    days = wb.from_arrow({"at": pa.array([1, 2], pa.timestamp("s"))}, time="at", name="days")
    yield pytest.param(days.tumbling_window("1d").aggregate(n=wb.count()), late, "counts in plain integers", id="unit")
    few = log(rest.slice(0, 300)).tumbling_window(WINDOW).aggregate(n=wb.count())
    yield pytest.param(few, late, "It is unclear when log ends", id="few rows")
    yield pytest.param(query, model_and_rest(1, 1, by="k")[0], "The model of late rows is by 'k'", id="kinds")


@pytest.mark.parametrize(("query", "late", "words"), list(refused()))
def test_what_cannot_be_is_said_in_words(query: wb.Stream, late: Any, words: str) -> None:
    with pytest.raises(wb.WhimbrelError, match=words) as error:
        query.progressive(late=late)
    assert "hint" in str(error.value)


def test_a_model_answers_by_itself() -> None:
    late, rest = model_and_rest(3, 3)
    table = late.missing(WINDOW, after=[0, 100, 1_000, 50_000])
    expected, most = (table[name].to_pylist() for name in ("expected", "at_most"))
    assert expected == sorted(expected, reverse=True)
    assert most[-1] == expected[-1] == 0
    assert all(share < bound < 0.5 for share, bound in zip(expected[:-1], most[:-1], strict=True))
    assert late.missing(WINDOW * 20, after=[0])["at_most"].to_pylist() == [None]
    kinds, _ = model_and_rest(3, 3, by="k", kind="uploads")
    shares = {row["k"]: row["expected"] for row in kinds.missing(WINDOW, after=[300]).to_pylist()}
    assert shares[2] > 0.4
    assert max(shares[0], shares[1]) < 0.1
    with pytest.raises(wb.WhimbrelError, match="device"):
        wb.lateness(log(rest), by="device")
    for mistake in ({"window": WINDOW, "after": []}, {"window": 0, "after": [1]}, {"window": WINDOW, "after": [-1]},
                    {"window": WINDOW, "after": [1], "confidence": 1.5}):
        with pytest.raises(wb.WhimbrelError, match=r"missing|confidence"):
            late.missing(**mistake)


def test_shares_are_those_of_every_window() -> None:
    """Against counting row by row, of windows that overlap, at ages one by one."""
    chance = np.random.default_rng(4)
    times = np.maximum(np.arange(600) - np.where(chance.random(600) < 0.3, chance.integers(0, 60, 600), 0), 0)
    late_by = np.maximum.accumulate(times) - times
    missing = Arrived(times, late_by).missing(20, 10, 3)
    begun, ended = times[:100].max(), times.max() - late_by.max()
    firsts = [first for first in range(3, 600, 10) if first >= begun and first + 20 <= ended]
    assert missing.windows == len(firsts)
    for window, first in enumerate(firsts):
        inside = (times >= first) & (times < first + 20)
        assert missing.rows[window] == inside.sum()
        for share, age in zip(missing.fractions[window], missing.ages_ticks, strict=True):
            assert share == ((times + late_by)[inside] >= first + 20 + age).mean()
    assert missing.fractions[:, -1].max() == 0
    assert missing.fractions[:, -2].max() > 0

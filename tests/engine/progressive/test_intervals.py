"""What an interval may say: nothing that is certainly wrong, and nothing where too little was seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from bench.coverage import HISTOGRAM, KEPT, RATIO, Values, coverage, membership
from bench.log_coverage import simulated
from whimbrel import col
from whimbrel.errors import KernelError
from whimbrel.expr import Expr

ROWS = 20_000


def answers(query: wb.Stream, **options: Any) -> list[tuple[wb.Estimate, list[dict[str, Any]]]]:
    """Early answers and their rows."""
    return [(answer, answer.table.to_pylist()) for answer in query.progressive(every="5%",
                                                                               **options) if not answer.final]


def test_a_count_lies_within_what_is_certain() -> None:
    table = pa.table({"at": np.arange(ROWS), "k": (np.arange(ROWS) >= 0.8 * ROWS).astype(int)})
    log = wb.from_arrow(table, time="at", name="log")
    for seed in range(3):
        seen = {0: 0, 1: 0}
        for answer, rows in answers(log.group_by("k").tumbling_window(ROWS).aggregate(n=wb.count()), seed=seed):
            left = ROWS - answer.metrics.rows
            for row in rows:
                seen[row["k"]] = max(seen[row["k"]], row["n_low"])
                assert row["n_low"] <= row["n"] <= row["n_high"] <= ROWS
                assert row["n_high"] - left <= answer.metrics.rows
                assert row["n_low"] >= 0


def test_all_rows_are_counted_before_they_are_read() -> None:
    log = wb.from_arrow({"at": np.arange(ROWS), "x": np.arange(ROWS) % 7}, time="at", name="log")
    _, rows = answers(log.tumbling_window(ROWS).aggregate(n=wb.count(), odd=wb.count().where(col.x > 5)))[0]
    assert rows[0]["n_low"] == rows[0]["n"] == rows[0]["n_high"] == ROWS
    assert rows[0]["odd_low"] < rows[0]["odd_high"]
    _, rows = answers(log.tumbling_window(ROWS // 4).aggregate(n=wb.count()))[0]
    for row in rows:  # of blocks at the ends of a window nobody knows how many of their rows are in it
        assert row["n_low"] <= ROWS // 4 <= row["n_high"] <= row["n_low"] + 2 * -(-ROWS // 250)
    _, rows = answers(log.where(col.x > 2).tumbling_window(ROWS).aggregate(n=wb.count()))[0]
    assert rows[0]["n_low"] < rows[0]["n_high"]


@pytest.mark.parametrize("sizes", ("a short last one", "of all sizes"))
def test_row_groups_of_several_sizes_are_no_surprise(tmp_path: Path, sizes: str) -> None:
    """Values that hardly vary: what blocks add differs by how many rows they have."""
    chance = np.random.default_rng(2)
    rows = [300] * 100 + [40] if sizes == "a short last one" else chance.integers(200, 600, 100).tolist()
    ends = np.cumsum([0, *rows])
    table = pa.table({"at": np.arange(ends[-1]), "x": 1_000 + chance.normal(0, 1, ends[-1])})
    with pq.ParquetWriter(tmp_path / "log.parquet", table.schema) as writer:
        for first, count in zip(ends.tolist(), rows, strict=False):
            writer.write_table(table.slice(first, count))
    query = wb.read_parquet(tmp_path / "log.parquet", time="at").tumbling_window(int(ends[-1])).aggregate(
        total=wb.sum(col.x), mean=wb.mean(col.x))
    truth = {"total": float(np.sum(table["x"].to_numpy())), "mean": float(np.mean(table["x"].to_numpy()))}
    missed, given = 0, 0
    for seed in range(12):
        bad = False
        for _, (row,) in answers(query, seed=seed, block_rows=1):
            for name, true in truth.items():
                if row[f"{name}_low"] is not None:
                    given += 1
                    bad |= not row[f"{name}_low"] <= true <= row[f"{name}_high"]
                    assert row[f"{name}_high"] - row[f"{name}_low"] < 0.01 * true
        missed += bad
    assert missed <= 2
    assert given > 12 * 8 * 2


def test_windows_of_time_have_intervals_of_their_own() -> None:
    """Blocks that lay across the ends of windows looked like heavy tails, and windows of few blocks had no interval."""
    chance = np.random.default_rng(9)
    log = wb.from_arrow({"at": np.arange(ROWS), "x": chance.exponential(10, ROWS)}, time="at", name="log")
    for size, label in ((ROWS // 4 - 30, "start"), (ROWS // 16 - 30, "end")):
        query = log.tumbling_window(size, label=label).aggregate(n=wb.count(), mean=wb.mean(col.x))
        truth = {row["start"]: row for row in query.collect().to_pylist()}
        open_, given, missed = 0, 0, 0
        for seed in range(3):
            for answer in query.progressive(at=[0.5, 0.8], seed=seed):
                for row in answer.table.to_pylist()[answer.settled:]:
                    open_ += 1
                    given += row["mean_low"] is not None
                    assert row["n_low"] == row["n_high"] == truth[row["start"]]["n"]
                    missed += row["mean_low"] is not None and not (
                        row["mean_low"] <= truth[row["start"]]["mean"] <= row["mean_high"])
        assert given > 0.5 * open_ > 0
        assert missed <= 0.05 * given


def test_what_was_not_seen_is_not_said_to_be_none() -> None:
    """All failures lie together: before their block is read the count is 0, and that says nothing."""
    table = pa.table({"at": np.arange(ROWS), "failed": (np.arange(ROWS) // 100) == 77})
    query = wb.from_arrow(table, time="at", name="log").tumbling_window(ROWS).aggregate(
        n=wb.count().where(col.failed), share=wb.mean(col.failed), rate=wb.count().where(col.failed) / wb.count())
    for seed in range(3):
        for answer, (row,) in answers(query, seed=seed, block_rows=100):
            assert row["n_low"] <= 100 <= row["n_high"]
            assert row["share_low"] is None
            assert row["rate_low"] is None
            assert "without an interval" in answer.summary
            assert answer.error_of("rate") == np.inf


def test_words_do_not_take_counts_that_are_certain_for_all_that_is_known() -> None:
    """Times of blocks say how many rows a window has, while too few of its values were seen for a mean."""
    log = wb.from_arrow({"at": np.arange(ROWS), "x": np.random.default_rng(0).normal(5, 1, ROWS)}, time="at")
    query = log.tumbling_window(1_000).aggregate(n=wb.count(), m=wb.mean(col.x))
    early = [answer for answer, _ in answers(query, block_rows=16)]
    for answer in early:
        means, rows = answer.errors[~answer.exact, 1], len(answer.exact)
        known, unknown = means[np.isfinite(means)], np.isinf(means).sum()
        assert not answer.errors[:, 0].any()
        said = [f"{answer.fraction_read:.1%} of the rows read", f"{answer.settled} of {rows} rows exact"]
        if unknown:
            said.append(f"{unknown} rows without an interval of m yet")
        said.append("n exact in all rows")
        if len(known):
            said.append(f"others within {np.median(known):.2%} (half of them), {known.max():.2%} (all with an "
                        "interval)")
        assert answer.summary.startswith("; ".join(said))
        assert ("others within" in answer.summary) == (len(known) > 0)
    assert "others within" not in early[0].summary
    assert "without an interval" not in early[-1].summary


def test_a_variance_is_not_below_zero() -> None:
    chance = np.random.default_rng(4)
    log = wb.from_arrow({"at": np.arange(ROWS), "x": chance.normal(0, 1, ROWS)}, time="at", name="log")
    query = log.tumbling_window(ROWS).aggregate(v=wb.var(col.x), q=wb.sum_of_squares(col.x))
    for _, (row,) in answers(query):
        assert 0 <= (row["v_low"] or 0) <= row["v"]
        assert 0 < row["q_low"] <= row["q"]


def test_a_value_that_is_not_a_number_says_nothing_of_the_others() -> None:
    """How few blocks make most of a variance was asked of no value any more, once one of them was not a number."""
    chance = np.random.default_rng(8)
    log = wb.from_arrow({"at": np.arange(ROWS), "x": chance.lognormal(0, 3, ROWS), "lost": np.full(ROWS, np.nan)},
                        time="at", name="log").tumbling_window(ROWS)
    alone = answers(log.aggregate(x=wb.sum(col.x)))
    together = answers(log.aggregate(x=wb.sum(col.x), y=wb.sum(col.lost)))
    for (_, (row,)), (_, (other,)) in zip(alone, together, strict=True):
        assert (row["x_low"], row["x_high"]) == (other["x_low"], other["x_high"])
        assert other["y_low"] is None


@pytest.mark.parametrize("groups", (10, 1_000))
@pytest.mark.parametrize("data", ("Zipf", "heavy tails"))
def test_intervals_of_skewed_data_hold_or_are_not_given(data: str, groups: int) -> None:
    found = coverage(data, groups, 8 if groups == 10 else 2)
    assert min(found.covered.values()) >= 0.95, found
    assert found.given["n"] > 0.01


@pytest.mark.parametrize("data", ("clustered by time", "heavy tails"))
def test_intervals_of_quantiles_and_distinct_counts_hold(data: str) -> None:
    found = coverage(data, 10, 4, KEPT, rows=32_000)
    assert min(found.covered.values()) >= 0.9, found
    assert found.given["median"] == 1
    assert found.given["sessions"] >= 0.5
    assert found.errors["median"] < 0.3
    assert max(found.widths[name] for name in ("median", "p90")) < 1.55, found


@pytest.mark.parametrize("seed", (11, 15, 24))
def test_few_groups_with_heavy_tails_have_no_interval_by_chance(seed: int) -> None:
    """Of ten groups some looked harmless, and so did the mean of all: one to four had intervals, one of these false."""
    chance = np.random.default_rng(seed)
    log = wb.from_arrow({"at": np.arange(ROWS), "k": chance.integers(0, 10, ROWS), "x": chance.lognormal(0, 2, ROWS)},
                        time="at", name="log")
    query = log.group_by("k").tumbling_window(ROWS).aggregate(x=wb.sum(col.x))
    found = simulated(query, 200, block_rows=ROWS // 128)["x"]
    assert found.stated == 0 or found.covered >= 0.95, found


def test_groups_without_a_large_value_have_intervals_from_the_other_groups() -> None:
    """A value in a hundred is a thousand times the others: half of the small groups had not met one, and were sure."""
    chance = np.random.default_rng(7)
    groups = 100
    log = wb.from_arrow({"at": np.arange(ROWS), "k": chance.integers(0, groups, ROWS),
                         "x": np.where(chance.random(ROWS) < 0.01, 1_000.0, chance.uniform(0, 2, ROWS)),
                         "even": chance.uniform(0, 2, ROWS)}, time="at", name="log")
    query = log.group_by("k").tumbling_window(ROWS).aggregate(x=wb.sum(col.x), even=wb.sum(col.even))
    truth = {row["k"]: row for row in query.collect().to_pylist()}
    missed: dict[str, set[int]] = {"x": set(), "even": set()}
    given: dict[str, set[int]] = {"x": set(), "even": set()}
    for _, rows in answers(query, block_rows=ROWS // 100):
        for row in rows:
            for name, wrong in missed.items():
                if row[f"{name}_low"] is not None:
                    given[name].add(row["k"])
                    if not row[f"{name}_low"] <= truth[row["k"]][name] <= row[f"{name}_high"]:
                        wrong.add(row["k"])
    assert len(missed["x"]) <= 0.05 * groups
    assert len(missed["even"]) <= 0.05 * groups
    assert len(given["even"]) > 0.9 * groups


def test_a_group_that_was_not_seen_may_have_the_largest_count() -> None:
    """All rows of one lie together: before one of them was read the next largest was said to be the largest."""
    rows, seed = 200_000, 18  # of 400 blocks the first sixty do not have it
    key = np.random.default_rng(6).integers(0, 40, rows)
    key[key < 2] = 0

    def certain(keys: np.ndarray[Any, Any]) -> list[tuple[bool, list[dict[str, Any]]]]:
        query = wb.from_arrow({"at": np.arange(rows), "k": keys}, time="at", name="log").group_by("k")
        updates = query.tumbling_window(rows).aggregate(n=wb.count()).progressive(at=[0.15, 0.3], seed=seed,
                                                                                  block_rows=500)
        return [ranking for ranking in (answer.ranking(1) for answer in updates if not answer.final) if ranking[0]]

    found = certain(np.where((np.arange(rows) >= 90_000) & (np.arange(rows) < 101_000), 99, key))
    assert all(top == [{"k": 99}] for _, top in found)  # its blocks are read first
    assert certain(key)[-1][1] == [{"k": 0}]


@pytest.mark.parametrize(("data", "groups"), (("Zipf", 10), ("heavy tails", 100)))
def test_rankings_that_are_certain_are_right(data: str, groups: int) -> None:
    assert membership(data, groups, 4, rows=32_000).covered == 1


@pytest.mark.parametrize("asked", (HISTOGRAM, RATIO), ids=("histogram", "ratio"))
@pytest.mark.parametrize("data", ("uniform", "clustered by time"))
def test_intervals_of_histograms_and_ratios_hold(data: str, asked: Values) -> None:
    found = coverage(data, 10, 4, asked, rows=32_000)
    assert min(found.covered.values()) >= 0.95, found


def test_an_interval_of_a_quantile_narrows_where_one_has_steered() -> None:
    """Rows that were preferred have larger values: what was read is no sample of all, and is weighed."""
    chance = np.random.default_rng(3)
    log = wb.from_arrow({"at": np.arange(ROWS), "x": chance.exponential(10, ROWS) + (np.arange(ROWS) < 4_000) * 30},
                        time="at", name="log")
    query = log.tumbling_window(ROWS).aggregate(middle=wb.median(col.x), kinds=wb.count_distinct(col.x))
    true, = query.collect()["middle"].to_pylist()
    progress = query.progressive(at=[0.3, 0.5, 0.7], block_rows=50, seed=2)
    first = next(progress).table.to_pylist()[0]
    progress.prioritize(between=(0, 4_000))
    *_, late, last = (answer.table.to_pylist()[0] for answer in progress)
    assert first["middle_low"] <= late["middle_low"] <= true <= late["middle_high"] <= first["middle_high"]
    assert late["middle"] == pytest.approx(true, rel=0.1)
    assert late["kinds_low"] < ROWS == last["kinds"] <= late["kinds_high"]


def test_values_that_a_sample_has_not_met_are_in_doubt() -> None:
    """A thousand others lie together: before their block is read there were few values, which says little."""
    x = np.arange(ROWS) % 5
    x[7_000:8_000] = np.arange(1_000) + 5
    query = wb.from_arrow({"at": np.arange(ROWS), "x": x}, time="at", name="log").tumbling_window(ROWS).aggregate(
        kinds=wb.count_distinct(col.x), one=wb.median(col.x.cast(float) * 0))
    for seed in range(3):
        for answer, (row,) in answers(query, seed=seed, block_rows=1_000):
            assert row["kinds_low"] <= 1_005 <= row["kinds_high"]
            assert row["kinds_high"] <= row["kinds_low"] + ROWS - answer.metrics.rows
            assert row["one"] == 0


def test_in_the_order_of_time_values_that_only_grow_have_a_lower_end() -> None:
    chance = np.random.default_rng(5)
    log = wb.from_arrow({"at": np.arange(ROWS), "x": chance.integers(0, 900, ROWS)}, time="at", name="log")
    query = log.tumbling_window(ROWS // 4).aggregate(kinds=wb.count_distinct(col.x), middle=wb.median(col.x),
                                                     least=wb.min(col.x))
    truth = {row["start"]: row for row in query.collect().to_pylist()}
    *early, last = query.progressive(every="30%", order="time")
    assert len(early) >= 3
    for answer in early:
        assert "kinds can only grow" in answer.summary
        assert "middle_low" not in answer.table.column_names
        for row in answer.table.to_pylist():
            assert row["kinds"] == row["kinds_low"] <= truth[row["start"]]["kinds"]
            assert row["least"] == row["least_high"] >= truth[row["start"]]["least"]
        assert early[0].table["kinds_high"].to_pylist()[-1] is None
    assert last.table.equals(query.collect())


FAR = {
    "near 0": lambda chance: chance.normal(0, 2, ROWS),
    "pressures": lambda chance: chance.normal(1013, 2, ROWS),
    "a narrow range": lambda chance: 300 + chance.uniform(0, 1, ROWS),
    "integers": lambda chance: 1_000_000 + chance.integers(0, 100, ROWS),
    "two values, as often": lambda chance: 2.0 + chance.integers(0, 2, ROWS),
}


@pytest.mark.share(8)
@pytest.mark.parametrize("data", FAR)
def test_values_far_from_0_have_intervals_that_hold(data: str) -> None:
    """A sum over an estimated number of rows that was rounded is off by more than values differ; and of values that lie
    equally far from their mean the variance hardly differs from block to block, to first order."""
    chance = np.random.default_rng(0)
    log = wb.from_arrow({"at": np.arange(ROWS), "k": chance.integers(0, 5, ROWS), "x": FAR[data](chance)}, time="at")
    query = log.group_by("k").tumbling_window(ROWS).aggregate(
        mean=wb.mean(col.x), ratio=wb.sum(col.x) / wb.count(), var=wb.var(col.x), std=wb.std(col.x))
    alone = log.group_by("k").tumbling_window(ROWS).aggregate(mean=wb.mean(col.x), var=wb.var(col.x), std=wb.std(col.x))
    for asked, names in ((query, ("mean", "ratio")), (alone, ("mean", "var", "std"))):
        truth = {row["k"]: row for row in asked.collect().to_pylist()}
        had, false = set(), set()
        for seed in range(10):
            for answer in asked.progressive(at=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], seed=seed):
                for row in [] if answer.final else answer.table.to_pylist():
                    for name in names:
                        if row[f"{name}_low"] is not None and row[f"{name}_high"] is not None:
                            had.add((seed, row["k"], name))
                            if not row[f"{name}_low"] <= truth[row["k"]][name] <= row[f"{name}_high"]:
                                false.add((seed, row["k"], name))
        assert {name for _, _, name in had} >= {"mean"}
        assert len(had) > 40
        assert len(false) <= 0.05 * len(had)


def test_a_claim_of_large_numbers_has_the_right_direction() -> None:
    chance = np.random.default_rng(4)
    log = wb.from_arrow({"at": np.arange(ROWS), "k": chance.integers(0, 2, ROWS), "x": chance.normal(1e5, 1, ROWS)},
                        time="at")
    query = log.group_by("k").tumbling_window(ROWS).aggregate(m=wb.mean(col.x))
    means = {row["k"]: row["m"] for row in query.collect().to_pylist()}
    for seed in range(10):
        for answer in query.progressive(at=[0.2, 0.4, 0.6, 0.8], seed=seed):
            claim = answer.compare({"k": 0}, {"k": 1})
            assert claim.confidence < 0.99 or (claim.difference > 0) == (means[0] > means[1])


def test_numbers_too_large_for_their_differences_have_no_interval() -> None:
    """Of seconds since 1970 squares of sums keep nothing of what blocks differ by."""
    chance = np.random.default_rng(1)
    log = wb.from_arrow({"at": np.arange(ROWS), "x": chance.normal(1.7e9, 1, ROWS)}, time="at", name="log")
    query = log.tumbling_window(ROWS).aggregate(m=wb.mean(col.x))
    truth = query.collect()["m"][0].as_py()
    for _, (row,) in answers(query):
        assert row["m_low"] is None or row["m_low"] <= truth <= row["m_high"]


@pytest.mark.parametrize("ratio", [
    wb.sum(col.x) / wb.sum(col.small), 1 / wb.mean(col.none), wb.mean(col.none) * wb.mean(col.none),
    wb.sum(col.x) / wb.sum(col.little), wb.mean(col.none).abs()], ids=lambda ratio: ratio.show())
def test_values_that_are_no_straight_lines_have_no_false_intervals(ratio: Expr) -> None:
    """Of a denominator that may be 0, half of the intervals were false."""
    rows, missed = 20_000, 0
    for seed in range(12):
        chance = np.random.default_rng(seed)
        table = pa.table({"at": np.arange(rows), **{name: chance.normal(mean, 1, rows) for name, mean in (
            ("x", 1), ("small", 0.01), ("none", 0), ("little", 0.05))}})
        query = wb.from_arrow(table, time="at").tumbling_window(rows).aggregate(ratio=ratio)
        truth, = query.collect()["ratio"].to_pylist()
        updates = [answer.table for answer in query.progressive(at=[0.05, 0.1, 0.2, 0.3, 0.5, 0.8], seed=seed)][:-1]
        ends = [(table["ratio_low"][0].as_py(), table["ratio_high"][0].as_py()) for table in updates]
        missed += any(None not in end and not end[0] <= truth <= end[1] for end in ends)
    assert missed <= 1


def test_values_that_are_nearly_straight_keep_their_intervals() -> None:
    rows = 20_000
    chance = np.random.default_rng(3)
    table = pa.table({"at": np.arange(rows), "k": chance.integers(0, 3, rows), "x": chance.normal(5, 2, rows)})
    query = wb.from_arrow(table, time="at").group_by("k").tumbling_window(rows).aggregate(
        mean=wb.mean(col.x), same=wb.sum(col.x) / wb.count(), spread=wb.std(col.x) / wb.mean(col.x))
    answer = next(query.progressive(at=[0.6], block_rows=100)).table
    for low, high, same_low, same_high in zip(*(answer[name].to_pylist() for name in (
            "mean_low", "mean_high", "same_low", "same_high")), strict=True):
        assert same_high - same_low == pytest.approx(high - low, rel=0.05)
    assert answer["spread_low"].null_count == 0


@pytest.mark.parametrize("top", [9 * 10**14, 18 * 10**14])
def test_sums_up_to_the_largest_integer_have_intervals_that_hold_or_none(top: int) -> None:
    """From 2**62 on they were cut, and so were their intervals."""
    rows = 20_000
    values = np.random.default_rng(0).integers(0, top, rows)
    values[rows // 4 :] *= 1 if top < 10**15 else -1
    table = pa.table({"at": np.arange(rows), "x": values})
    query = wb.from_arrow(table, time="at").tumbling_window(rows).aggregate(total=wb.sum(col.x))
    exact, = query.collect()["total"].to_pylist()
    assert abs(exact) > 2**62
    *early, last = (answer.table for answer in query.progressive(at=[0.1, 0.3, 0.5, 0.9]))
    assert last["total"].to_pylist() == [exact]
    ends = [(table["total_low"][0].as_py(), table["total_high"][0].as_py()) for table in early]
    assert any(None not in end for end in ends)
    assert all(None in end or end[0] <= exact <= end[1] for end in ends)


def test_a_product_that_leaves_its_type_on_the_way_is_not_known_yet() -> None:
    rows = 20_000
    table = pa.table({"at": np.arange(rows), "k": np.arange(rows) % 2, "x": np.where(np.arange(rows) % 9_999, 7, 0)})
    log = wb.from_arrow(table, time="at")
    query = log.group_by("k").tumbling_window(rows).aggregate(product=wb.product(col.x))
    first, *_, last = (answer.table["product"].to_pylist() for answer in query.progressive(every="1%", block_rows=100))
    assert None in first
    assert last == query.collect()["product"].to_pylist() == [0, 0]
    never = log.where(col.x > 0).tumbling_window(rows).aggregate(product=wb.product(col.x))
    with pytest.raises(KernelError):
        never.progressive().finish()


def test_large_integers_are_distinguished_where_floats_are_not() -> None:
    rows = 20_000
    table = pa.table({"at": np.arange(rows), "k": np.arange(rows) % 2, "id": 2**60 + np.arange(rows) % 2})
    query = wb.from_arrow(table, time="at").group_by("k").tumbling_window(rows).aggregate(largest=wb.max(col.id))
    *_, last = query.progressive()
    assert last.ranking(1) == (True, [{"k": 1}])
    assert last.compare({"k": 0}, {"k": 1}).summary == "0 < 1 (largest), exactly"
    for row in last.table.to_pylist():
        assert int(row["largest_low"]) <= row["largest"] <= int(row["largest_high"])


def test_a_large_maximum_is_never_below_its_lower_end() -> None:
    rows = 10_000
    table = pa.table({"at": np.arange(rows), "id": np.random.default_rng(1).integers(0, 2**62, rows)})
    query = wb.from_arrow(table, time="at").tumbling_window(rows).aggregate(largest=wb.max(col.id))
    truth, = query.collect()["largest"].to_pylist()
    for seed in range(20):
        for answer in query.progressive(at=[0.5, 0.9], seed=seed):
            assert int(answer.table["largest_low"][0].as_py()) <= truth


def test_a_sum_that_leaves_its_type_only_on_the_way_ends_no_reading() -> None:
    rows = 20_000
    values = np.where(np.arange(rows) < rows // 2, 1, -1) * 4 * 10**15 + np.random.default_rng(1).integers(0, 99, rows)
    table = pa.table({"at": np.arange(rows), "x": values})
    query = wb.from_arrow(table, time="at").tumbling_window(rows).aggregate(total=wb.sum(col.x))
    for seed in range(8):
        progress = query.progressive(every="3%", block_rows=100, seed=seed).prioritize(between=(0, rows // 2))
        *early, last = (answer.table for answer in progress)
        assert early
        assert last["total"].to_pylist() == query.collect()["total"].to_pylist()

"""Distinct counts and quantiles with a bounded error."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.aggregates.approximate import DistinctSummary, QuantileSummary, fingerprints
from whimbrel.aggregates.frequent_values import FrequencySummary
from whimbrel.batch import Column
from whimbrel.errors import MissingExtraError
from whimbrel.kernels import tier
from whimbrel.operators.aggregation import multiset_values, sketch_accumulator

ROWS = 120_000


def log(rows: int = ROWS) -> pa.Table:
    chance = np.random.default_rng(3)
    return pa.table({
        "at": np.arange(rows) // 3, "g": chance.integers(0, 2, rows), "x": chance.integers(0, 30_000, rows),
        "y": chance.lognormal(3, 2, rows), "w": [f"word {number}" for number in chance.integers(0, 9000, rows)],
    })


def asked(table: pa.Table, batch: int = ROWS, window: int = ROWS) -> list[dict[str, Any]]:
    rows = wb.from_arrow(pa.Table.from_batches(table.to_batches(max_chunksize=batch)), time="at", reorder_latency=0)
    with tier("primitives"):
        return rows.group_by("g").tumbling_window(window).aggregate(
            d=wb.approx_count_distinct(col.x), w=wb.approx_count_distinct(col.w, 14),
            p=wb.approx_quantile(col.y, 0.99), m=wb.approx_quantile(col.y, 0.5, k=1000),
            r=wb.approx_quantile(col.y, 0.25).where(col.x < 100),
        ).collect().sort_by([("start", "ascending"), ("g", "ascending")]).to_pylist()


def columns(table: pa.Table, mine: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    return [np.array(table[name].to_pylist())[mine] for name in ("x", "y", "w")]


def test_errors_are_bounded() -> None:
    table = log()
    for row in asked(table):
        x, y, w = columns(table, table["g"].to_numpy() == row["g"])
        assert row["d"] == pytest.approx(len(set(x)), rel=3 * 1.04 / 2**6)
        assert row["w"] == pytest.approx(len(set(w)), rel=3 * 1.04 / 2**7)
        for found, share, error in ((row["p"], 0.99, 0.002), (row["m"], 0.5, 0.01)):
            assert (y <= found).mean() == pytest.approx(share, abs=error)
        assert row["r"] == pytest.approx(np.quantile(y[x < 100], 0.25))  # few values: exact


def test_batches_and_the_order_of_ties_change_nothing() -> None:
    table = log(30_000)
    whole = asked(table)
    order = np.lexsort((np.random.default_rng(4).random(len(table)), table["at"].to_numpy()))
    assert asked(table, batch=999) == whole
    assert asked(table.take(order), batch=5000) == whole


def test_many_windows_at_once_are_each_their_own() -> None:
    table = log(9000)
    for row in asked(table, window=100):
        inside = table["at"].to_numpy() // 100 == row["start"] // 100
        x, y, w = columns(table, inside & (table["g"].to_numpy() == row["g"]))
        assert (row["d"], row["w"]) == (len(set(x)), len(set(w)))
        assert row["p"] == pytest.approx(np.quantile(y, 0.99))


def test_what_is_not_finite_stays_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketch_accumulator, "CHUNK", 10)
    values = [math.nan] * 10 + [math.inf] * 20 + [-math.inf] * 30 + [float(number) for number in range(40)]
    rows = wb.from_arrow(pa.table({"at": [0] * 100, "y": values}), time="at").tumbling_window(1)
    shares = {"low": 0.2, "middle": 0.5, "high": 0.75, "none": 0.95}
    found = rows.aggregate(**{name: wb.approx_quantile(col.y, q) for name, q in shares.items()}).collect()
    low, middle, high, none = (found[name][0].as_py() for name in shares)
    assert (low, high) == (-math.inf, math.inf)
    assert middle == pytest.approx(19.5, abs=1)
    assert math.isnan(none)


def test_parts_are_merged() -> None:
    values = np.random.default_rng(1).normal(size=40_000)
    left, right = QuantileSummary(0.9, 500), QuantileSummary(0.9, 500)
    left.add(values[:15_000])
    right.add(np.append(values[15_000:], math.nan))
    left.merge(right)
    assert (values <= left.result()).mean() == pytest.approx(0.9, abs=0.01)
    assert left.others.tolist() == [0, 0, 1]
    words = fingerprints(Column.from_arrow(pa.array([f"{number}" for number in range(20_000)])))
    one, other = DistinctSummary(12), DistinctSummary(12)
    one.add(words[:12_000])
    other.add(words[8_000:])
    one.merge(other)
    assert one.result() == pytest.approx(20_000, rel=0.05)


def test_a_copy_goes_its_own_way_and_what_is_written_is_read() -> None:
    values = np.random.default_rng(1).integers(0, 99_000, 20_000)
    for summary in (DistinctSummary(12), QuantileSummary(0.9, 500)):
        given = values if isinstance(summary, DistinctSummary) else values.astype(np.float64)
        summary.add(given[:9000])
        before, clone = summary.result(), summary.fork()
        clone.add(given[9000:])
        assert summary.result() == before
        again = (DistinctSummary.from_bytes(summary.to_bytes()) if isinstance(summary, DistinctSummary)
                 else QuantileSummary.from_bytes(0.9, summary.to_bytes()))
        again.add(given[9000:])
        assert again.result() == clone.result()


def test_fingerprints_do_not_depend_on_the_encoding() -> None:
    plain = pa.array(["a", None, "b", "a"])
    one, other = (fingerprints(Column.from_arrow(array)) for array in (plain, plain.dictionary_encode()))
    assert one[[0, 2, 3]].tolist() == other[[0, 2, 3]].tolist()
    assert len(set(one[[0, 2, 3]].tolist())) == 2


@pytest.mark.parametrize(("make", "message"), (
    (lambda: wb.approx_count_distinct(col.x), "approx_count_distinct"),
    (lambda: wb.approx_quantile(col.x, 0.5), "approx_quantile"),
))
def test_the_library_may_be_missing(make: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=f"(?s){message}.* needs datasketches.*whimbrel\\[sketches\\]"):
        make()


@pytest.mark.parametrize(("make", "message"), (
    (lambda: wb.approx_count_distinct(col.x, 4), "precision must be .*, got 4"),
    (lambda: wb.approx_quantile(col.x, 2), "q must be .*, got 2"),
    (lambda: wb.approx_quantile(col.x, 0.5, k=1), "k must be .*, got 1"),
    (lambda: wb.approx_top_k(col.x, 0), "k must be .*, got 0"),
    (lambda: wb.approx_top_k(col.x, 9, counters=8), "counters must be .*, got 8"),
))
def test_arguments_are_checked(make: Any, message: str) -> None:
    with pytest.raises(wb.WhimbrelError, match=message):
        make()


def frequencies(values: Any) -> dict[Any, int]:
    return dict(zip(*(part.tolist() for part in np.unique(values, return_counts=True)), strict=True))


@pytest.mark.parametrize("counters", (20, 300, 100_000))
def test_counts_are_within_their_error(counters: int) -> None:
    """Every window has numbers, words and NaN; the words of the first window are other ones than those of the last."""
    chance = np.random.default_rng(5)
    rows, window = 200_000, 50_000
    x = chance.zipf(1.2, rows) % 100_003
    table = pa.table({"at": np.arange(rows) // 2, "x": np.where(x % 5, x, np.nan),
                      "w": [f"{at // window} {number}" for at, number in enumerate(x.tolist())]})
    log = wb.from_arrow(pa.Table.from_batches(table.to_batches(max_chunksize=7001)), time="at", reorder_latency=0)
    for row in log.tumbling_window(window // 2).aggregate(
            n=wb.approx_top_k(col.x, 5, counters=counters),
            w=wb.approx_top_k(col.w, 5, counters=counters)).collect().to_pylist():
        inside = slice(2 * row["start"], 2 * row["end"])
        for found, values in ((row["n"], table["x"].to_numpy()[inside]), (row["w"], table["w"].to_pylist()[inside])):
            count = frequencies(values)
            of = [next(many for key, many in count.items() if str(key) == str(each["value"])) for each in found]
            assert all(each["count"] <= true <= each["count"] + each["error"]
                       for each, true in zip(found, of, strict=True))
            assert all(each["error"] <= window / counters for each in found)
            assert of == sorted(count.values(), reverse=True)[:5]  # so frequent ones are not missed
    assert (found[0]["error"] == 0) == (counters > window)


def test_counters_are_merged_copied_written_and_read() -> None:
    values = np.random.default_rng(1).zipf(1.3, 40_000)
    one, other = FrequencySummary(100), FrequencySummary(100)
    one.add(values[:15_000])
    other.add(values[15_000:])
    clone = one.fork()
    clone.merge(FrequencySummary.from_bytes(100, other.to_bytes()))
    keys, counts, error = clone.result()
    assert len(keys) <= 100
    assert 0 < error <= len(values) / 100
    true = np.array([frequencies(values)[key] for key in keys.tolist()])
    assert (counts <= true).all()
    assert (true <= counts + error).all()
    assert one.result()[1].sum() < clone.result()[1].sum()


def test_frequent_words_are_forgotten_and_known_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiset_values, "INITIAL_STRINGS", 40)
    monkeypatch.setattr(sketch_accumulator, "CHUNK", 16)
    monkeypatch.setattr(sketch_accumulator, "PENDING_AT_FIRST", 32)
    words = [word for part in range(60) for word in (f"rare {part}", f"rare {part} too", "often", "more", "more")]
    table = pa.table({"at": range(300), "w": words})
    log = wb.from_arrow(pa.Table.from_batches(table.to_batches(max_chunksize=20)), time="at")
    found = log.tumbling_window(300).aggregate(w=wb.approx_top_k(col.w, 2, counters=8)).collect()["w"][0].as_py()
    assert [each["value"] for each in found] == ["more", "often"]
    assert found[0]["count"] <= 120 <= found[0]["count"] + found[0]["error"]


def test_large_integers_after_a_window_of_nulls() -> None:
    x = pa.array([None] * 4 + [2**60 + each for each in range(4)], pa.int64())
    table = pa.table({"at": [0, 1, 10, 10, 11, 11, 12, 13], "x": x})
    log = wb.from_arrow(pa.Table.from_batches(table.to_batches(max_chunksize=2)), time="at", reorder_latency=0)
    found = log.tumbling_window(5).aggregate(d=wb.approx_count_distinct(col.x), t=wb.approx_top_k(col.x, 1)).collect()
    assert found["d"].to_pylist() == [0, 4]
    assert found["t"].to_pylist() == [[], [{"value": 2**60, "count": 1, "error": 0}]]


def test_nothing_has_no_frequent_values() -> None:
    rows = wb.from_arrow(pa.table({"at": [0, 6], "x": pa.array([None, 1], pa.int64())}), time="at")
    assert rows.tumbling_window(5).aggregate(v=wb.approx_top_k(col.x, 2)).collect()["v"].to_pylist() == [
        [], [{"value": 1, "count": 1, "error": 0}]]
    assert rows.aggregate(v=wb.approx_top_k(col.x, 2).where(col.x > 1)).collect()["v"].to_pylist() == [[], []]


def test_the_library_is_loaded_when_it_is_needed() -> None:
    sys.modules.pop("datasketches", None)
    rows = wb.from_arrow(pa.table({"at": [0, 0], "x": [1, 2]}), time="at")
    assert rows.tumbling_window(1).aggregate(d=wb.approx_count_distinct(col.x)).collect()["d"].to_pylist() == [2]
    assert "datasketches" not in sys.modules

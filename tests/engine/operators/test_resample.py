"""Values at the points of a time grid, from the samples around them."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel.errors import KernelError, WhimbrelError
from whimbrel.kernels import tier
from whimbrel.testing.oracle import Event, differences
from whimbrel.testing.oracle import temporal as oracle


def signal(times: list[int], values: list[Any] | None = None, **columns: Any) -> Stream:
    given = {"at": times, "x": times if values is None else values, **columns}
    return wb.from_arrow(given, time="at", name="log").select("x", *columns)


def found(stream: Stream, name: str = "x", **options: Any) -> list[tuple[int, Any]]:
    table = stream.collect(**options)
    return list(zip(table["start"].to_pylist(), table[name].to_pylist(), strict=True))


def drawn_samples(drawn: random.Random, *, keys: bool) -> list[Event]:
    out: list[Event] = []
    for key in ["a", "b", None] if keys else ["a"]:
        time = drawn.randint(-20, 5)
        for _ in range(drawn.randint(1, 25)):
            lasts = drawn.choice([1, 1, 3])
            out.append((time, time + lasts, {"x": drawn.choice([None, *range(9)]), "s": drawn.choice([None, "u", "v"]),
                                                 "k": key}))
            time += lasts + drawn.choice([0, 0, 1, 6, 40])
    if keys:  # events without a key may overlap
        return sorted(out, key=lambda event: event[0])
    return out


@pytest.mark.parametrize("how", ["hold", "nearest", "linear"])
@pytest.mark.parametrize("keys", [False, True], ids=["one key", "keys"])
@pytest.mark.parametrize("seed", range(12))
def test_values_are_as_the_oracle_says(seed: int, keys: bool, how: Any) -> None:
    drawn = random.Random(seed)
    events = drawn_samples(drawn, keys=keys)
    period, limit, offset = drawn.randint(1, 12), drawn.choice([None, 1, 5, 30]), drawn.choice([0, 0, 3, -17])
    table = pa.table({"at": pa.array([start for start, _, _ in events], pa.int64()),
                      "until": pa.array([end for _, end, _ in events], pa.int64()),
                      "x": pa.array([row["x"] for _, _, row in events], pa.int64()),
                      "s": pa.array([row["s"] for _, _, row in events], pa.string()),
                      "k": pa.array([row["k"] for _, _, row in events], pa.string())})
    stream = wb.from_arrow(table, time="at", end="until").select("x", "s", *(["k"] if keys else []))
    stream = stream.group_by("k") if keys else stream
    if not keys:
        events = [(start, end, {"x": row["x"], "s": row["s"]}) for start, end, row in events]
    expected = oracle.resample(events, period, how, limit=limit, offset=offset, keys=["k"] if keys else [])
    rows = stream.resample(period, how=how, limit=limit, offset=offset).collect().to_pylist()
    given = [(row.pop("start"), row.pop("end"), row) for row in rows]
    assert differences(expected, given) == ([], [])
    assert [start for start, _, _ in given] == sorted(start for start, _, _ in given)


def test_each_method_has_its_values() -> None:
    stream = signal([0, 4, 12], [0.0, 8.0, 24.0])
    assert found(stream.resample(3, how="hold", limit=4)) == [
        (0, 0.0), (3, 0.0), (6, 8.0), (12, 24.0), (15, 24.0)]
    assert found(stream.resample(3, how="linear", limit=8)) == [
        (0, 0.0), (3, 6.0), (6, 12.0), (9, 18.0), (12, 24.0), (15, None), (18, None)]
    assert found(stream.resample(2, how="nearest", limit=2)) == [
        (-2, 0.0), (0, 0.0), (2, 0.0), (4, 8.0), (6, 8.0), (10, 24.0), (12, 24.0), (14, 24.0)]
    assert found(stream.resample(6, how="mean")) == [(0, 4.0), (12, 24.0)]
    assert found(stream.resample(6, how="mean", offset=4)) == [(-2, 0.0), (4, 8.0), (10, 24.0)]


def test_a_mean_is_that_of_a_tumbling_window() -> None:
    values = [0.1 * row for row in range(200)]
    stream = signal([3 * row for row in range(200)], values, k=[row % 3 for row in range(200)])
    made = stream.group_by("k").resample(50, how="mean")
    window = stream.group_by("k").tumbling_window(50).aggregate(x=wb.mean(col.x)).select("x", "k")
    assert made.schema.names == ("x", "k")
    assert made.collect().sort_by([("start", "ascending"), ("k", "ascending")]).equals(
        window.collect().sort_by([("start", "ascending"), ("k", "ascending")]))


@pytest.mark.parametrize("how", ["hold", "nearest", "linear"])
def test_a_sample_on_a_grid_point_gives_its_value_bit_by_bit(how: Any) -> None:
    values = [0.1, 1e300, -1e300, 5e-324, -0.0, float("inf"), float("nan"), 1e17 + 2]
    stream = signal([10 * row for row in range(len(values))], values)
    table = stream.resample(5, how=how, limit=10).collect()
    at = dict(zip(table["start"].to_pylist(), table["x"].to_numpy(), strict=True))
    assert np.array([at[10 * row] for row in range(len(values))]).tobytes() == np.array(values).tobytes()


def test_lines_between_extremes_stay_on_the_line() -> None:
    largest = 1.7e308
    stream = signal([0, 4, 8, 12, 16], [-largest, largest, 5.0, float("inf"), 2.0])
    assert [value for _, value in found(stream.resample(2, how="linear", limit=4))][:9] == [
        -largest, 0.0, largest, largest / 2, 5.0, float("inf"), float("inf"), float("inf"), 2.0]


def test_types_of_lines() -> None:
    stream = wb.from_arrow(pa.table({"at": [0, 2], "i": pa.array([2**60, 2**60 + 512], pa.int64()),
                                     "u": pa.array([2**64 - 1, 0], pa.uint64()),
                                     "f": pa.array([0.5, 1.5], pa.float32())}), time="at").select("i", "u", "f")
    made = stream.resample(1, how="linear", limit=2)
    assert [str(field.type) for field in made.schema] == ["double", "double", "float"]
    assert made.collect().slice(0, 3).select(["i", "u", "f"]).to_pylist() == [
        {"i": 2.0**60, "u": 2.0**64, "f": 0.5}, {"i": 2.0**60 + 256, "u": 2.0**63, "f": 1.0},
        {"i": 2.0**60 + 512, "u": 0.0, "f": 1.5}]


def test_held_values_are_of_any_type() -> None:
    stream = signal([0, 5], ["a", None], d=pa.array([[1], [2, 3]], pa.list_(pa.int64())))
    assert stream.resample(2, how="hold", limit=3).collect().to_pylist() == [
        {"start": 0, "end": 2, "x": "a", "d": [1]}, {"start": 2, "end": 4, "x": "a", "d": [1]},
        {"start": 6, "end": 8, "x": None, "d": [2, 3]}, {"start": 8, "end": 10, "x": None, "d": [2, 3]}]


def test_durations_dates_and_weeks() -> None:
    at = pa.array([0, 86_400 * 20], pa.timestamp("s", "Europe/Berlin"))
    stream = wb.from_arrow(pa.table({"at": at, "x": [1.0, 21.0]}), time="at").select("x")
    weeks = stream.resample("1w", how="linear", limit="20d")
    assert [value for _, value in found(weeks)] == [5.0, 12.0, 19.0, None, None, None]
    assert "resample('1w', how='linear', limit='20d')" in weeks.explain()


def test_what_is_resampled_is_periodic_and_runs_in_a_loop() -> None:
    stream = signal(list(range(0, 3_000, 7)))
    query = stream.resample(10, how="linear", limit=50).sliding_window(100).aggregate(m=wb.mean(col.x))
    assert "periodic_loop" in query.explain()
    last = query.collect().to_pylist()[200]
    assert last["m"] == pytest.approx(sum(range(last["start"] - 90, last["start"] + 1, 10)) / 10)


@pytest.mark.long
def test_a_long_gap_comes_in_portions() -> None:
    stream = signal([0, 2_000_000, 2_000_001])
    table = stream.resample(1, how="linear", limit=3_000_000).collect()
    assert table.num_rows == 2_000_001 + 3_000_001
    assert table["x"].to_numpy()[:2_000_001].sum() == 2_000_000 * 2_000_001 // 2
    held = signal([0, 700_000, 700_001], k=[1, 2, 1]).group_by("k").resample(1, how="hold", limit=700_000)
    assert held.collect().num_rows == 1_400_002 + 700_001


def test_far_samples_cost_nothing_with_a_limit() -> None:
    stream = signal([-(2**61), 0, 2**61])
    assert [start for start, _ in found(stream.resample(3, how="nearest", limit=3))] == [
        -(2**61) - 1, -(2**61) + 2, -3, 0, 3, 2**61 - 2, 2**61 + 1]
    with pytest.raises(KernelError, match="too close to the limit of int64"):
        signal([0, 2**63 - 5]).resample(3, how="hold", limit=3).collect()


def test_samples_that_overlap_are_refused_with_both_times() -> None:
    twice = signal([0, 5, 5], k=["a", "b", "b"])
    with pytest.raises(KernelError, match="An event at 5 begins before the one at 5 has ended"):
        twice.resample(2, how="hold", limit=9).collect()
    with pytest.raises(KernelError, match="An event of k = 'b' at 5 begins before the one at 5 has ended"):
        twice.group_by("k").resample(2, how="hold", limit=9).collect()
    lasting = wb.from_arrow({"at": [0, 5], "until": [7, 9], "x": [1, 2]}, time="at", end="until").select("x")
    with pytest.raises(KernelError, match="An event at 5 begins before the one at 0 has ended") as failed:
        lasting.resample(2, how="linear", limit=9).collect()
    assert "group_by(...)" in str(failed.value)


def test_a_missing_key_has_no_values_and_groups_stay() -> None:
    stream = signal([0, 1, 2, 4], [1, 2, 3, 4], k=["a", None, "b", "a"]).group_by("k")
    for how in ("hold", "mean"):
        made = stream.resample(2, how=how)
        assert [name for name, _ in made.keys] == ["k"]
        assert set(made.collect()["k"].to_pylist()) == {"a", "b"}
    odd = signal([0, 1, 2, 3]).group_by(odd=col.x % 2 == 1).resample(1, how="hold")
    assert odd.schema.names == ("x", "odd")
    assert sorted(found(odd.select("x", p=col.x.previous()), "p"), key=str) == [
        (0, None), (1, 0), (1, None), (2, 0), (2, 1), (3, 1)]


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "how": ({"how": "cubic"}, "how must be one of 'hold', 'linear', 'nearest', 'mean', 'polyphase', got 'cubic'",
            'how="linear"'),
    "a period of 0": ({"period": 0, "how": "hold"}, "period must be positive, got 0", ""),
    "a limit of 0": ({"how": "hold", "limit": 0}, "limit must be positive, got 0", ""),
    "a period in words": ({"period": "5ms", "how": "hold"}, "integer times", "ticks"),
    "a long limit": ({"how": "hold", "limit": 2**62}, "limit must be at most", "shorter"),
    "a mean of no time": ({"period": 0, "how": "mean", "s": [1, 2]}, "period must be positive, got 0", "Use a"),
    "a mean with a limit": ({"how": "mean", "limit": 3}, "takes no limit", "Remove limit="),
    "a decimal on a line": ({"how": "linear", "s": [Decimal(1), Decimal(2)]}, "gives float64, but 's' has the type",
                            'with_columns(s=col.s.cast("float64"))'),
    "a mean of text": ({"how": "mean"}, "needs columns of numbers, got 's' of type string", 'select("x")'),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_refused_before_any_row(name: str) -> None:
    options, words, hint = dict(WRONG[name][0]), *WRONG[name][1:]
    with pytest.raises(WhimbrelError) as failed:
        signal([0, 1], s=options.pop("s", ["a", "b"])).resample(**{"period": 5, **options})
    assert words in str(failed.value)
    assert hint in str(failed.value)


def test_on_a_line_what_is_no_number_has_the_value_of_the_last_sample() -> None:
    """The log as it was read, with its measured times, a text and a flag."""
    at = [np.datetime64("2024-01-01T00:00:00.000", "ms") + np.timedelta64(each, "ms") for each in (0, 10, 60)]
    log = wb.from_arrow({"t": at, "x": [0, 2, 4], "s": ["a", "b", None], "f": [True, False, True]}, time="t")
    rows = log.resample("5ms", how="linear", limit="20ms").collect().to_pylist()
    assert [(row["x"], row["s"], row["f"]) for row in rows[:4]] == [
        (0.0, "a", True), (1.0, "a", True), (2.0, "b", False), (None, None, None)]
    assert rows[-1] == rows[-1] | {"x": None, "s": None}
    assert rows[1]["t"] == rows[0]["t"]


def test_a_feed_needs_a_limit() -> None:
    feed = wb.feeds.iterator(lambda: iter([{"at": 0, "x": 1}]), time="at")
    query = signal([0, 7]).resample(5, how="linear")
    with pytest.raises(WhimbrelError, match="needs a limit, or it waits for ever") as failed:
        feed.select("x").resample(5, how="linear").collect()
    assert 'limit="1m"' in str(failed.value)
    assert found(query) == [(0, 0.0), (5, 5.0)]
    assert feed.select("x").resample(5, how="hold", limit=5).collect().num_rows == 2


def test_live_answers_are_those_of_history() -> None:
    log = wb.from_arrow({"at": range(0, 300, 7), "x": range(43)}, time="at", name="log")
    came = wb.from_arrow({"at": range(0, 300, 7), "x": range(43), "seen": range(1, 301, 7)}, time="at", arrival="seen",
                         reorder_latency=2, late="drop", name="log")
    for how in ("hold", "linear", "nearest"):
        query = log.select("x").resample(5, how=how, limit=10)  # type: ignore[arg-type]
        assert query.node.properties.causal is (how == "hold")
        assert query.on(wb.replay(log, speed=float("inf"))).collect().equals(query.collect())
        assert query.certify(log, came).ok


def test_all_tiers_agree_on_long_logs() -> None:
    times = np.random.default_rng(1).integers(1, 30, 3_000).cumsum()
    table = pa.table({"at": times, "x": np.arange(3_000.0), "k": np.arange(3_000) % 40})
    query = wb.from_arrow(table, time="at").select("x", "k").group_by("k").resample(11, how="linear", limit=900)
    with tier("interpreted"):
        expected = query.collect()
    with tier("fused"):
        assert query.collect().equals(expected)

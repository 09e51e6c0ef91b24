"""Load shedding of queries on a desk."""

from __future__ import annotations

import random
from bisect import bisect_right
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel.batch import Batch, Column
from whimbrel.errors import CheckpointError, PlanError
from whimbrel.expr import evaluate
from whimbrel.operators import GroupAggregate, Select
from whimbrel.run import source_reader
from whimbrel.run.desk import estimated
from whimbrel.run.desk.shedding import arrival_sample
from whimbrel.run.desk.shedding.arrival_sample import ArrivalSample, ArrivalSampleKernel
from whimbrel.run.desk.shedding.weighted_sample import WeightedSample, WeightedSampleKernel

col = wb.col
VALUES = ("n", "large", "total", "mean")


def made(windows: int = 20, rows_each: int = 60) -> wb.Stream:
    rng = np.random.default_rng(3)
    at = np.sort(rng.integers(0, 100 * windows, windows * rows_each))
    return wb.from_arrow({"at": at, "k": rng.integers(0, 2, len(at)), "x": rng.integers(20, 99, len(at))},
                         time="at", name="events")


def query(events: wb.Stream) -> wb.Stream:
    return events.where(col.x > 20).group_by("k").tumbling_window(100).aggregate(
        n=wb.count(), large=wb.count().where(col.x > 60), total=wb.sum(col.x), mean=wb.mean(col.x))


def rows_of(table: Any) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=lambda row: (row["start"], row.get("k", 0)))


def estimates(windows: int, rows_each: int, rule: wb.Shed, values: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Estimates of many windows, each a group, by the steps of a plan; and the exact values."""
    rng = np.random.default_rng(5)
    rows = windows * rows_each
    at, x = np.sort(rng.integers(0, 100 * windows, rows)), getattr(rng, values)(size=rows)
    x = x + 5.0 if values == "normal" else x
    events = wb.from_arrow({"at": at, "x": x}, time="at", name="events")
    plan = estimated(events.tumbling_window(100).aggregate(
        n=wb.count(), large=wb.count().where(col.x > 1), total=wb.sum(col.x), mean=wb.mean(col.x)).node, rule, "")
    group, aggregate = at // 100, plan.inputs[0]
    sample = next(node.op for node in plan.walk() if isinstance(node.op, WeightedSample))
    assert isinstance(aggregate.op, GroupAggregate)
    assert isinstance(plan.op, Select)
    measures = aggregate.op.measures
    whole = Batch(events.node.schema, at, 1, (Column(pa.int64(), at), Column(pa.float64(), x)))

    def states(batch: Batch) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, each in measures:
            true = np.ones(len(batch), np.bool_) if each.condition is None else evaluate(each.condition, batch).values
            expr = None if each.name == "count" else each.expr
            value = np.ones(len(batch)) if expr is None else evaluate(expr, batch).values
            found[name] = np.bincount(batch.sync // 100, np.where(true, value, 0.0), windows)
            if each.name == "mean":
                found[name] = found[name] / np.bincount(batch.sync // 100, minlength=windows)
        return found

    kept = Batch.concat(list(sample.kernel(whole.schema).push(whole)))
    columns = tuple(Column(field.type, states(kept)[field.name].astype(field.type.to_pandas_dtype()))
                    for field in aggregate.schema)
    made = Batch(aggregate.schema, np.arange(windows) * 100, 100, columns)
    out, = plan.op.kernel(aggregate.schema).push(made)
    exact = {"n": np.bincount(group), "large": np.bincount(group, x > 1), "total": np.bincount(group, x)}
    return ({field.name: np.asarray(column.values) for field, column in zip(out.schema, out.columns, strict=True)},
            exact | {"mean": exact["total"] / exact["n"]})


@pytest.mark.parametrize(("values", "least"), [("normal", 0.935), ("uniform", 0.935), ("exponential", 0.92)])
@pytest.mark.parametrize("rule", [wb.Shed(40, per=100), wb.Shed(200, per=1000, seed=7)])
def test_intervals_contain_the_exact_values_as_often_as_they_say(values: str, least: float, rule: wb.Shed) -> None:
    found, exact = estimates(2000, 150, rule, values)
    for name in VALUES:
        inside = (found[f"{name}_low"] <= exact[name]) & (exact[name] <= found[f"{name}_high"])
        assert least <= inside.mean() <= 0.965 or not exact[name].any(), (name, inside.mean())
        off = found[name].sum() - exact[name].sum()
        assert abs(off) <= 0.01 * exact[name].sum(), (name, off)


def lifetimes(unit: str) -> wb.Stream:
    """2,000 rows in the first 1,000 ticks, and few later."""
    rng = np.random.default_rng(8)
    at = np.concatenate([np.sort(rng.integers(0, 1000, 2000)), np.arange(1200, 2000, 9)])
    columns = {"k": rng.integers(0, 2, len(at)), "x": rng.integers(20, 99, len(at)), "f": rng.normal(5, 2, len(at))}
    times = [pa.array(each.astype(f"datetime64[{unit}]").astype("datetime64[us]")) if unit else each
             for each in (at, at + rng.integers(1, 60, len(at)))]
    return wb.from_arrow({"at": times[0], "until": times[1], **columns}, time="at", end="until", name="events")


@pytest.mark.parametrize(("windows", "unit", "per"), [
    (lambda s: s.group_by("k").sliding_window(100), "", 100), (lambda s: s.where(col.x > 30).shift(3), "", 100),
    (lambda s: s.quantize(40, 10), "", 100),
    (lambda s: s.tumbling_window("1d"), "h", "4d"), (lambda s: s.hopping_window(50, 30), "", 100),
])
def test_any_window_that_rewrites_lifetimes_row_by_row_is_scaled(windows: Any, unit: str, per: Any) -> None:
    """At each time an estimate is one of the exact value there, although fewer rows change it."""
    events = lifetimes(unit)
    wanted = windows(events).aggregate(n=wb.count(), large=wb.count().where(col.x > 60), total=wb.sum(col.x),
                                       mean=wb.mean(col.x), floats=wb.sum(col.f))
    desk = wb.desk(events)
    desk.add("a", wanted, overload=wb.Shed(60, per=per))
    desk.run()
    exact = rows_of(wanted.collect())
    begin, span = exact[0]["start"], exact[-1]["start"] - exact[0]["start"]
    of_key = {key: [row for row in exact if row.get("k") == key] for key in {row.get("k") for row in exact}}
    values, inside, busy, quiet = ("n", "large", "total", "mean", "floats"), 0, 0, 0
    for row in desk["a"].table.to_pylist():
        rows = of_key[row.get("k")]
        there = rows[bisect_right(rows, row["start"], key=lambda each: each["start"]) - 1]
        assert row["start"] < there["end"]
        if (row["start"] - begin) / span > 0.7:
            quiet += 1
            assert all(row[f"{name}_low"] == row[name] == row[f"{name}_high"] for name in values)
            assert [row[name] for name in values] == pytest.approx([there[name] for name in values])
            continue
        found = [row[f"{name}_low"] <= there[name] <= row[f"{name}_high"] for name in values
                 if row[f"{name}_low"] is not None]
        inside, busy = inside + sum(found), busy + len(found)
    assert desk.cost.queries[0].dropped_rows > 1000
    assert quiet > 5
    assert inside > 0.85 * busy > 60


def test_without_overload_results_are_exact_and_only_the_query_that_sheds_is_estimated() -> None:
    events = made()
    desk = wb.desk(events)
    desk.add("exact", query(events))
    desk.add("idle", query(events), overload=wb.Shed(100, per=100))
    desk.add("sheds", query(events), overload=wb.Shed(24, per=100))
    desk.run()
    exact = rows_of(query(events).collect())
    assert rows_of(desk["exact"].table) == exact
    assert rows_of(desk["idle"].table) == [
        row | {f"{name}_{bound}": row[name] for name in VALUES for bound in ("low", "high")} for row in exact]
    assert rows_of(desk["sheds"].table) != exact
    shed = [each.shed for each in desk.cost.queries]
    assert shed[0] is None
    assert shed[1] is not None
    assert (shed[1].kept, shed[1].dropped, shed[1].first) == (1200, 0, None)
    assert shed[2] is not None
    assert shed[2].kept + shed[2].dropped == 1200
    first, last = shed[2].first, shed[2].last
    assert isinstance(first, int)
    assert isinstance(last, int)
    assert 0 <= first < 200
    assert 1900 <= last < 2000
    assert desk.metrics["dropped_rows"].to_pylist() == [0, 0, shed[2].dropped]
    assert f"dropped {shed[2].dropped} of 1,200 rows, from {first} to {last}" in desk.explain()


def test_sql_and_later_steps_keep_the_bounds() -> None:
    events = made()
    desk = wb.desk(events)
    text = "SELECT tb, k, sum(x) AS total, avg(x) AS m FROM events GROUP BY at/100 AS tb, k HAVING count(*) > 3"
    desk.add("sql", text, overload=wb.Shed(24, per=100))
    desk.add("wide", "SELECT tb, k FROM sql WHERE total_high - total_low > 1800")
    desk.run()
    table = desk["sql"].table
    assert table.column_names == ["start", "end", "tb", "k", "total", "m", "total_low", "total_high", "m_low", "m_high"]
    wide = [row for row in table.to_pylist() if row["total_high"] - row["total_low"] > 1800]
    assert 0 < desk["wide"].rows == len(wide) < table.num_rows


def test_nulls_are_not_counted_and_floats_that_are_not_numbers_stay() -> None:
    columns = {"at": list(range(200)), "x": [1.5, None] * 100, "y": [float("inf")] + [1.0] * 199}
    events = wb.from_arrow(columns, time="at", name="events")
    desk = wb.desk(events)
    wanted = events.tumbling_window(200).aggregate(
        n=wb.count(col.x), s=wb.sum(col.x), m=wb.mean(col.x), y=wb.sum(col.y))
    desk.add("a", wanted, overload=wb.Shed(200, per=200))
    desk.add("b", wanted, overload=wb.Shed(80, per=100))
    desk.run()
    a, b = desk["a"].table.to_pylist()[0], desk["b"].table.to_pylist()[0]
    assert (a["n"], a["s"], a["m"], a["y"]) == (100, 150.0, 1.5, float("inf"))
    assert b["n_low"] < 100 < b["n_high"]
    assert b["s"] == pytest.approx(1.5 * b["n"], abs=0.75)
    assert b["m"] == pytest.approx(1.5)


@pytest.mark.parametrize(("size", "rows"), [(1, 5), (7, 5), (64, 5), (7, 12), (64, 17)])
def test_batches_and_copies_do_not_change_the_sample(size: int, rows: int) -> None:
    op = WeightedSample(rows=rows, per_ticks=10, seed=4)
    node = made().node
    sync = np.sort(np.random.default_rng(1).integers(-100, 200, 500))
    whole = Batch(node.schema.select(()), sync, 1, ())
    kernel, parts = op.kernel(whole.schema), op.kernel(whole.schema)
    expected = Batch.concat(list(kernel.push(whole)))
    found: list[Batch] = []
    for at in range(0, 500, size):
        found += parts.push(whole.slice(at, at + size))
        parts, state = op.kernel(whole.schema), parts.state_parts()
        parts.restore_state(state)
    got = Batch.concat(found)
    assert got.sync.tolist() == expected.sync.tolist()
    assert np.array_equal(got.columns[0].values, expected.columns[0].values)
    assert parts.state_parts() == kernel.state_parts()
    assert len(expected) + kernel.state_parts()["dropped"] == 500


@pytest.mark.parametrize("killed", [False, True])
def test_a_restart_changes_nothing(killed: bool, tmp_path: Path) -> None:
    events = made()

    rule = wb.Shed(24, per=100)
    expected = wb.desk(events)
    expected.add("a", query(events), overload=rule)
    expected.run()
    before = 0
    for rows in (250, 333, None):
        desk = wb.desk(events, checkpoints=wb.Checkpoints(tmp_path))
        if before:
            with pytest.raises(CheckpointError, match=r"shed\(24, per=100\)"):
                desk.add("a", query(events), overload=wb.Shed(30, per=100))
        desk.add("a", query(events), overload=rule)
        desk.run(rows=rows)
        settled = desk["a"].answer.settled().to_pylist()
        assert sorted(map(str, settled)) == sorted(map(str, expected["a"].table.to_pylist()[before : desk["a"].rows]))
        before = desk["a"].rows
        if killed and rows is not None:
            desk._loop.saved.write(desk._loop.session)  # type: ignore[union-attr]
            desk.run(rows=100)
            desk._loop.abandon()
        else:
            desk.stop()
    assert before == expected["a"].rows
    assert desk.cost.queries[0].shed == expected.cost.queries[0].shed


@pytest.mark.parametrize(("wrong", "words"), [
    (lambda s: s.tumbling_window(9).aggregate(m=wb.max(col.x)), r"max\(col.x\) of a sample is no estimate"),
    (lambda s: s.session_window(9).aggregate(n=wb.count()), r"session_window\(9\) ends where rows are missing"),
    (lambda s: s.last_rows(9).aggregate(n=wb.count()), r"last_rows\(9\) comes before its aggregate, and its rows"),
    (lambda s: s.aggregate(n=wb.count()), "its aggregate has no window"),
    (lambda s: s.where(col.x > 3).set_duration(1).aggregate(n=wb.count()), "its aggregate has no window"),
    (lambda s: s.where(col.x > 3), "it has no aggregate"),
    (lambda s: s.tumbling_window(9).aggregate(n=wb.count(), fill=True), "fill= adds rows"),
    (lambda s: s.join(s, on="k").tumbling_window(9).aggregate(n=wb.count()), "reads more than one stream"),
    (lambda s: s.tumbling_window(9).aggregate(n=wb.count(), n_low=wb.count()), "second column 'n_low'"),
    (lambda s: s.tumbling_window(9).aggregate(n=wb.sum(col.x, widen=True)), "integers and floats only"),
])
def test_a_query_whose_results_cannot_be_scaled_is_refused(wrong: Any, words: str) -> None:
    events = made(windows=1)
    desk = wb.desk(events)
    with pytest.raises(PlanError, match=words):
        desk.add("a", wrong(events), overload=wb.Shed(5, per=10))
    assert len(desk) == 0


@pytest.mark.parametrize("per", ["x", "0s", "1mo", 0, None, 0.5])
def test_a_wrong_period_is_refused_when_the_rule_is_made(per: Any) -> None:
    with pytest.raises(PlanError):
        wb.Shed(5, per=per)


@pytest.mark.parametrize(("rule", "words"), [
    (lambda: wb.Shed(0, per=10), "rows must be an integer"),
    (lambda: wb.Shed(5, per=10, confidence=1.0), "between 0 and 1"),
    (lambda: wb.Shed(5, per=10, time="arrival"), "per must be a duration"),
    (lambda: wb.Shed(5, per="1s", time="now"), "time must be 'event' or 'arrival'"),  # type: ignore[arg-type]
    (lambda: wb.Shed(5, per=10, seed=0.5), "seed must be an integer"),  # type: ignore[arg-type]
    (lambda: wb.Shed(5, per=0), "per must be positive"), (lambda: 5, "must be wb.Shed"),
])
def test_a_wrong_rule_is_refused(rule: Any, words: str) -> None:
    events = made(windows=1)
    with pytest.raises(PlanError, match=words):
        wb.desk(events).add("a", query(events), overload=rule())


def test_the_weight_of_a_row_follows_from_its_period_and_the_one_before() -> None:
    rng = np.random.default_rng(2)
    near, far = rng.integers(-60, 60, 300), rng.integers(-10**6, 10**6, 40)
    for times in (np.sort(near), np.sort(np.concatenate([near, far])), np.sort(far)):
        kernel = WeightedSampleKernel(WeightedSample(rows=3, per_ticks=10, seed=0), made().node.schema)
        found = np.concatenate([np.repeat(*kernel._weights(part)) for part in np.array_split(times, 7)])
        seen: dict[int, int] = {}
        wanted = []
        for at in times.tolist():
            period = at // 10
            seen[period] = seen.get(period, 0) + 1
            wanted.append(max(3, seen[period], seen.get(period - 1, 0)) / 3)
        assert found.tolist() == wanted

@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The wall clock in nanoseconds, which the test moves."""
    now = [10**15]
    monkeypatch.setattr(arrival_sample, "monotonic_ns", lambda: now[0])
    return now


def test_the_clock_begins_periods_and_a_record_of_them_gives_the_same_weights(clock: list[int]) -> None:
    rng = np.random.default_rng(4)
    node = made().node
    op = ArrivalSample(rows=5, per_ticks=10**9, seed=2, unit="ns")
    sizes, waits = rng.integers(1, 12, 60), rng.choice([0, 0, 10**9, 3 * 10**9], 60)
    sync = np.sort(rng.integers(0, 99, sizes.sum()))
    whole = Batch(node.schema.select(()), sync, 1, ())
    first = op.kernel(whole.schema)
    assert isinstance(first, ArrivalSampleKernel)
    begins: list[tuple[int, int]] = []
    found, wanted, row = [], [], 0
    seen, before = 0, 0
    for size, wait in zip(sizes.tolist(), waits.tolist(), strict=True):
        clock[0] += wait
        if wait or not row:
            seen, before = 0, seen if wait == 10**9 else 0
        wanted += [max(5, number, before) / 5 for number in range(seen + 1, seen + size + 1)]
        seen += size
        found += [np.repeat(*first._weights(sync[row : row + size]))]
        first.kept = row = row + size
        _, more = first.record() or (0, ())
        begins += more
    assert np.concatenate(found).tolist() == wanted
    assert first.record() is None

    assert 5 < len(begins) < 60
    again = op.kernel(whole.schema)
    assert isinstance(again, ArrivalSampleKernel)
    again.replay(len(sync) - 20, [each for each in begins if each[0] < len(sync) - 20])
    rest = [np.repeat(*again._weights(part)) for part in [sync[:100]]]
    again.kept = 100
    copy = op.kernel(whole.schema)
    assert isinstance(copy, ArrivalSampleKernel)
    copy.restore_state(again.state_parts())
    rest.append(np.repeat(*copy._weights(sync[100:-20])))
    assert np.concatenate(rest).tolist() == wanted[:-20]
    copy.kept = len(sync) - 20
    assert np.repeat(*copy._weights(sync[-20:])).tolist() == [max(5, number) / 5 for number in range(1, 21)]


def test_a_restart_keeps_the_rows_whose_arrival_was_recorded(clock: list[int], tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the clock says later, each settled row that somebody could see comes again as it was."""
    choose = random.Random(3)
    monkeypatch.setattr(source_reader, "_FEWEST_ROWS", 32)
    monkeypatch.setattr(source_reader, "BATCH_ROWS", 32)
    events, rule = made(windows=30, rows_each=30), wb.Shed(25, per="1s", time="arrival")
    shown: dict[str, list[dict[str, Any]]] = {"a": [], "b": [], "late": []}
    seen_again = dict.fromkeys(shown, 0)
    for steps in (12, 9, 7, 9, 99):
        desk = wb.desk(events, checkpoints=wb.Checkpoints(tmp_path, keep=2))
        began = {}
        for name in ("a", "b", *(["late"] if steps != 12 else [])):
            desk.add(name, query(events), overload=rule)
            began[name] = desk[name].rows
        for step in range(steps):
            clock[0] += 10**9 * (choose.choice([0, 1, 5]) if steps != 12 else step < 9)
            desk.run(rows=1)
            if step in (1, 4) and steps < 99:
                desk._loop.saved.write(desk._loop.session)  # type: ignore[union-attr]
            if steps == 12 and step in (5, 8):  # after the checkpoint from which the next desk resumes
                if step == 8:
                    desk.remove("late")
                desk.add("late", query(events), overload=rule)
                began["late"] = 0
        for name, rows in shown.items():
            now, before = desk[name].answer.settled().to_pylist(), rows[began[name]:]
            seen_again[name] += min(len(before), len(now))
            assert now[: len(before)] == before[: len(now)], (name, steps)
            shown[name] = rows[: began[name]] + max(now, before, key=len)
        if steps == 7:
            desk.stop()
        elif steps < 99:
            desk._loop.abandon()
    assert min(seen_again.values()) > 10
    assert shown["a"] == shown["b"] != shown["late"]
    shed = desk.cost.queries[0].shed
    assert shed is not None
    assert shed.kept + shed.dropped == 900
    assert shed.dropped > 100
    assert str(shed).endswith("by recorded arrival time")
    assert len(list(tmp_path.glob("arrivals-*"))) <= 2
    desk.stop()


def test_without_checkpoints_the_receipt_says_that_another_run_drops_others(clock: list[int]) -> None:
    """A flood at one moment is shed as one period, whatever its event times are."""
    events = made(windows=10, rows_each=400)
    desk = wb.desk(events)
    desk.add("exact", query(events))
    desk.add("sheds", query(events), overload=wb.Shed(1000, per="1m", time="arrival"))
    desk.run()
    text = desk.explain()
    assert "shed(1000, per=1m, time='arrival')" in text
    assert "by arrival time, so that another run drops others" in text
    exact, found = rows_of(desk["exact"].table), rows_of(desk["sheds"].table)
    inside = [row[f"{name}_low"] - 0.5 <= each[name] <= row[f"{name}_high"] + 0.5
              for each, row in zip(exact, found, strict=True) for name in VALUES]
    assert sum(inside) >= 0.88 * len(inside)
    desk.add("results", desk.stream("exact").tumbling_window(300).aggregate(n=wb.sum(col.n)),
             overload=wb.Shed(10, per=100))
    with pytest.raises(PlanError, match="results of the query 'exact' have no arrival time"):
        desk.add("late", desk.stream("exact").tumbling_window(300).aggregate(n=wb.sum(col.n)),
                 overload=wb.Shed(10, per="1s", time="arrival"))

"""Late rows of a latency band change the rows that read them by position, and nothing else is computed again."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.engine.optimize.test_recompute_late import rows_again
from tests.engine.stream.test_latency_bands import dropping
from tests.engine.stream.test_latency_bands import rows as counted
from whimbrel import col
from whimbrel.batch import Field, Schema
from whimbrel.kernels import Compiled
from whimbrel.kernels.primitives.temporal.event_positions import cut_at_round_times
from whimbrel.plan import Node
from whimbrel.run import Execution, collect_together
from whimbrel.run.checkpoint import load, save
from whimbrel.temporal import changed_event_kernel, event_history
from whimbrel.testing.rows import BatchedRows

LATENCIES = (0, 5, 40)

by_key = wb.aggregate(init=0, accumulate=lambda s, x: 2 * s + x, result=lambda s: s, name="in_order")

QUERIES: dict[str, Callable[[wb.Stream], wb.Stream]] = {
    "previous": lambda log: log.group_by("k").select("x", d=col.x - col.x.previous(2)),
    "text": lambda log: log.group_by("k").select(w=col.word.previous()),
    "rows": lambda log: log.select(m=wb.mean(col.x).past(rows=3), n=wb.count().past(rows=5, min_rows=5)),
    "rows by key": lambda log: log.group_by("k").select(m=wb.max(col.x).past(rows=2), s=wb.sum(col.x).past(rows=7)),
    "limit": lambda log: log.group_by("k").where(
        col.x > (wb.mean(col.x) + wb.std(col.x)).past(rows=4).previous()),
    "long windows": lambda log: log.select(m=wb.mean(col.x).past(rows=20), v=wb.var(col.x).past(rows=18)),
    "later": lambda log: log.group_by("k").select(p=col.x.previous().ago(4), m=wb.sum(col.x).past(rows=2).ago(3)),
    "times and rows": lambda log: log.group_by("k").select(s=wb.sum(col.x).past(9), p=col.x.previous()),
    "times by key": lambda log: log.group_by("k").select(s=wb.sum(col.x).past(6), a=col.x.ago(4)),
    "own function": lambda log: log.group_by("k").select(s=by_key(col.y).past(rows=3)),
    "time weighted": lambda log: log.group_by("k").select(s=wb.integral(col.x).past(rows=3)),
    "nested": lambda log: log.group_by("k").select(m=wb.mean(col.x - col.x.previous()).past(rows=3), p=col.x.ago(5)),
    "three stages": lambda log: log.select(d=(wb.max(col.x).past(7) - col.x).previous(),
                                           e=wb.max(wb.mean(col.x).past(rows=3)).past(rows=5)),
    "one after the other": lambda log: log.group_by("k").select("k", s=wb.sum(col.y).past(rows=2)).group_by("k").select(
        d=col.s - col.s.previous()),
}


def facts(seed: int, lasting: int, count: int = 80) -> list[dict[str, Any]]:
    """Events of three keys and of none in order of their arrival: floats whose sums depend on the order of adding."""
    chance, zeros = random.Random(seed), [0] * (4 if seed % 2 else 40)
    at = sorted(chance.sample(range(-90, 4 * count, lasting), count))
    return sorted(({"at": when, "seen": when + chance.choice((*zeros, 3, 4, 12, 38)), "y": chance.randint(-4, 9),
                    "x": chance.choice((None, *[chance.uniform(-1, 1) * 10.0**chance.randint(-9, 9)] * 9)),
                    "k": chance.choice(("a", "b", "c", None)), "word": chance.choice(("one", "two", None))}
                   for when in at), key=lambda row: row["seen"])


def a_log(seed: int, lasting: int | Sequence[int]) -> wb.Stream:
    """Events that last so long, or so long in turn."""
    most = lasting if isinstance(lasting, int) else max(lasting)
    rows = facts(seed, most)
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    if not isinstance(lasting, int):
        columns["until"] = [row["at"] + lasting[number % len(lasting)] for number, row in enumerate(rows)]
        return wb.from_arrow(columns, time="at", arrival="seen", end="until", name="log").drop("until")
    return wb.from_arrow(columns, time="at", arrival="seen", name="log").set_duration(lasting)


@pytest.fixture
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are answered a few at once, and histories forget soon."""
    monkeypatch.setattr(changed_event_kernel, "_PORTION", 7)
    monkeypatch.setattr(event_history, "_CROWDED", 9)


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("lasting", [1, 3, (1, 2, 4)], ids=str)
def test_each_band_is_as_if_it_were_asked_alone(name: str, lasting: int | Sequence[int]) -> None:
    for seed in range(4):
        query = QUERIES[name](a_log(seed, lasting))
        bands = query.at_latencies(*LATENCIES)
        assert bands.explain().count("recompute_rows(") == 2
        for latency, band, table in zip(LATENCIES, bands, collect_together([band.node for band in bands]), strict=True):
            assert counted(table) == counted(dropping(query, latency).collect()), (seed, latency)
            assert counted(band.collect()) == counted(table)


@pytest.mark.usefixtures("_small_parts")
@pytest.mark.parametrize("name", QUERIES)
def test_batches_checkpoints_and_early_answers_change_nothing(name: str, tmp_path: Path) -> None:
    rows = [(row["at"], row["at"] + 2, {key: row[key] for key in ("x", "y", "k", "word")}) for row in facts(1, 2)]
    schema = Schema((Field("x", pa.float64()), Field("y", pa.int64()), Field("k", pa.string()),
                     Field("word", pa.string())))
    log = wb.Stream(Node(BatchedRows([[row] for row in rows], schema=schema))).set_duration(2)
    plans = [band.node for band in QUERIES[name](log).at_latencies(*LATENCIES)]
    expected = [counted(table) for table in collect_together(plans)]
    for at in (9, 41):
        with closing(Execution(*plans)) as session:
            for _ in range(at):
                session.step()
            assert len(session.snapshots(range(len(plans)))) == len(plans)
            save(session, tmp_path / str(at))
            before = [answer.settled() for answer in session.answers]
        with closing(Execution(*plans)) as session:
            load(session, tmp_path / str(at))
            while not session.finished:
                session.step()
            after = [answer.settled() for answer in session.answers]
        assert [counted(one) + counted(other) for one, other in zip(before, after, strict=True)] == expected


def a_part(chance: random.Random, of: Any = None) -> Any:
    """A value of other events, or a window of them, maybe of such values."""
    expr = a_part(chance, col.x) if of is None and chance.random() < 0.3 else col.x
    window = chance.choice((wb.sum, wb.mean, wb.max, wb.std, wb.first))(expr)
    rows = chance.randint(1, 6)
    return chance.choice((expr.previous(chance.randint(1, 3)), expr.ago(chance.randint(1, 9)), window.past(3 * rows),
                          window.past(rows=4 * rows), window.past(rows=rows).previous(), window.past(rows=rows).ago(4),
                          col.x.previous().ago(rows)))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_random_columns_of_each_band_are_as_if_it_were_asked_alone(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40 * seed, 40 * seed + 40):
        chance = random.Random(number)
        monkeypatch.setattr(changed_event_kernel, "_PORTION", chance.choice((1, 7, 50)))
        monkeypatch.setattr(event_history, "_CROWDED", chance.choice((3, 9, 65_536)))
        log = a_log(number, chance.choice((1, 3, (1, 2, 4))))
        log = log.group_by("k") if chance.random() < 0.6 else log
        query = log.select("x", **{name: a_part(chance) for name in "abc"[:chance.randint(1, 3)]})
        for latency, table in zip(LATENCIES, collect_together([band.node for band in query.at_latencies(*LATENCIES)]),
                                  strict=True):
            assert counted(table) == counted(dropping(query, latency).collect()), (number, latency)


@pytest.mark.parametrize(("query", "again"), [
    (lambda log: log.group_by("k").select(p=col.x.previous()), 2),
    (lambda log: log.select(s=wb.sum(col.x).past(rows=4)), 5),
    (lambda log: log.group_by("k").select(s=wb.sum(col.x).past(rows=4).previous()), 6),
    (lambda log: log.group_by("k").select(s=wb.sum(col.x).past(20)), 3),
    (lambda log: log.group_by("k").select(s=wb.sum(col.x - col.x.previous()).past(rows=2)), 2 + 4)])
def test_one_late_row_computes_those_again_that_read_it(query: Callable[[wb.Stream], wb.Stream], again: int) -> None:
    """Itself, the next events of its key that its window has, and one more at most."""
    at = [*range(5_000), *range(5_001, 10_000), 5_000]
    columns = {"at": at, "seen": range(10_000), "x": [when % 7 for when in at], "k": [when % 9 for when in at]}
    log = wb.from_arrow(columns, time="at", arrival="seen")
    bands = query(log).at_latencies(0, 10_000)
    assert rows_again(bands) == [again]
    changed = {row["start"] for row in bands.collect().to_pylist()
               if row["band"] == "10000" and row["change"] != "unchanged"}
    assert 0 < len(changed) <= again


def test_late_rows_of_one_time_follow_those_in_time() -> None:
    """Two keys have an event at 5 each; one of them is late, and both have the right values."""
    log = wb.from_arrow({"at": [1, 1, 5, 9, 9, 5], "seen": [1, 1, 5, 9, 9, 10], "k": ["a", "b", "b", "a", "b", "a"],
                         "x": [1, 2, 4, 5, 6, 3]}, time="at", arrival="seen")
    _, late = log.group_by("k").select("k", p=col.x.previous()).at_latencies(0, 9)
    found = {(row["start"], row["k"]): row["p"] for row in late.collect().to_pylist()}
    assert found == {(1, "a"): None, (1, "b"): None, (5, "a"): 1, (5, "b"): 2, (9, "a"): 3, (9, "b"): 4}


def test_columns_that_are_slices_are_computed_by_each_band() -> None:
    """To find what changed takes longer than to compute all of it."""
    bands = a_log(1, 1).select(d=col.x - col.x.previous()).at_latencies(*LATENCIES)
    assert "recompute" not in bands.explain()


def test_rows_are_put_aside_only_while_a_late_one_may_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_event_kernel, "_PORTION", 10)
    at = [*range(350), *range(351, 400), 350]
    log = wb.from_arrow({"at": at, "seen": range(400), "x": at, "k": [0] * 400}, time="at", arrival="seen")
    bands = log.group_by("k").select(s=wb.sum(col.x).past(25)).at_latencies(0, 1_000)
    assert rows_again(bands) == [26]
    _, late = collect_together([band.node for band in bands])
    assert late["s"].to_pylist()[345:370] == [sum(range(time - 24, time + 1)) for time in range(345, 370)]


@pytest.mark.parametrize("lowest", [0, -60, -2**63 + 1, 2**63 - 200])
@pytest.mark.parametrize("make", [lambda function: function, Compiled], ids=["interpreted", "compiled"])
def test_windows_are_cut_at_the_roundest_time(lowest: int, make: Callable[[Any], Any]) -> None:
    """So the cut depends on the events of the window alone."""
    cut_at = make(cut_at_round_times)
    for seed in range(20):
        chance = random.Random(seed)
        starts = sorted(chance.sample(range(lowest, lowest + chance.choice((45, 120, 190))), 40))
        high = sorted(chance.randint(0, 40) for _ in range(50))
        low = [max(0, bound - seed % 9 - 1) for bound in high]
        cut = np.zeros(50, np.int64)
        cut_at(np.array(starts), np.array(low), np.array(high), 0, 50, cut)
        for begin, stop, found in zip(low, high, cut.tolist(), strict=True):
            times = range(starts[begin] + 1, starts[stop - 1] + 1) if stop - begin > 1 else ()
            roundest = max(times, key=lambda time: time & -time if time else 2**64, default=None)
            assert found == (begin if roundest is None else next(at for at in range(begin, stop)
                                                                 if starts[at] >= roundest))

"""The text that is generated, as golden files: a change of the generator is reviewed as a change of text."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import whimbrel as wb
from bench import applications_in_expressions as expressions
from bench import applications_in_operators as operators
from bench import workload_e as bench
from whimbrel import col

GOLDEN = Path(__file__).parent / "golden"
LOG = {"at": [1, 2], "key": [1, 2], "name": ["a", "b"], "x": [1, None], "y": [1.0, 2.0]}


def log() -> wb.Stream:
    return wb.from_arrow(LOG, time="at")


REGULAR = log().assume(periodic=1)
KEYED = log().assume(periodic=2, per="key")

QUERIES = {
    "count_and_sum": log().group_by("key").tumbling_window(10).aggregate(rows=wb.count(), total=wb.sum(col.y)),
    "filter_and_nulls": log()
    .where((col.y > 1) & (col.name != "b"))
    .group_by("name")
    .tumbling_window(10)
    .aggregate(mean=wb.mean(col.x + 1), late=wb.count().where(col.y < 3)),
    "nine_aggregates": log().group_by("key").tumbling_window(10).aggregate(
        n=wb.count(), s=wb.sum(col.x), m=wb.mean(col.y), lo=wb.min(col.x), hi=wb.max(col.y), a=wb.first(col.x),
        z=wb.last(col.x), v=wb.var(col.y), sd=wb.std(col.x)),
    "hopping": log().group_by("key").hopping_window(10, 5).aggregate(most=wb.max(col.y), n=wb.count(), emit="close"),
    "sliding_extreme": log().group_by("key").sliding_window(10).aggregate(most=wb.max(col.y)),
    "pattern": log().group_by("key").detect(
        wb.event(col.y > 1, first=col.y).then(wb.event(col.y > wb.register.first)), within=9, register={"first": 0.0}),
    "crossing_periodic": REGULAR.sliding_window(20).aggregate(m=wb.mean(col.y)).cross_join(
        REGULAR.sliding_window(50).aggregate(m=wb.mean(col.y)), where=col.m > col.m_right),
    "heart_beats": operators.pan_tompkins(REGULAR.select(x=col.y)),
    "pan_tompkins_expression": expressions.pan_tompkins(REGULAR.select(x=col.y)),
    "trading_expression": expressions.crossing(REGULAR.select(x=col.y)),
    "fraud_expression": expressions.fraud(KEYED.select("key", x=col.y), key="key"),
    "changes_joined": log().hold(limit=3).over_time(m=wb.mean(col.y).past(6)).cross_join(
        log().hold(limit=5).over_time(s=wb.sum(col.x).past(4)), where=col.m > col.s),
    "scan_expression": log().select(z=wb.sum(col.y).so_far(reset=col.x > 1)),
    "scores_periodic": REGULAR.cross_join(REGULAR.tumbling_window(50).aggregate(m=wb.mean(col.y)), allow_lookahead=True)
    .select(z=col.y - col.m),
    "vibration_periodic": REGULAR.tumbling_window(100).aggregate(
        n=wb.count(), m=wb.mean(col.y), s2=wb.sum(col.y * col.y), s3=wb.sum(col.y * col.y * col.y),
        s4=wb.sum(col.y * col.y * col.y * col.y), high=wb.max(abs(col.y)))
    .select(kurtosis=col.s4 / col.n - 4 * col.m * col.s3 / col.n, rms=(col.s2 / col.n).sqrt(), crest=col.high / col.s2),
    "between_two_periods": wb.from_arrow({"at": [0, 5], "x": [1, 2]}, time="at").assume(periodic=5).cross_join(
        wb.from_arrow({"at": [0, 4], "until": [4, 8], "y": [1.0, 2.0]}, time="at", end="until").assume(
            periodic=4, duration=4)),
    "by_key_periodic": KEYED.join(KEYED.group_by("key").sliding_window(20).aggregate(m=wb.mean(col.y)).shift(2),
                                   on="key", where=col.y > col.m).select("y"),
}


@pytest.mark.parametrize("name", QUERIES)
def test_generated_text_is_as_reviewed(name: str) -> None:
    text = QUERIES[name].kernels()
    file = GOLDEN / f"{name}.py.txt"
    if os.environ.get("WHIMBREL_UPDATE_GOLDEN") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()
    for kernel in text.split("\n\n\n# "):  # windows that hop have two, of panes and of windows
        assert len(kernel.splitlines()) <= 80


@pytest.mark.long
def test_whatever_the_bench_runs_on_periodic_streams_is_at_most_eighty_lines() -> None:
    # So many rows that the middle of a stream, where no event is missing, gets a text of its own.
    x, kind = np.linspace(-50, 50, 60_000, dtype=np.float32), np.arange(60_000) % 3
    log, other, ads = (bench._periodic(columns) for columns in ({"x": x}, {"y": x}, {"kind": kind}))
    there, here = np.flatnonzero(kind), np.flatnonzero(kind != 1)
    for _, query, *_ in (*bench._periodic_cases(log, other, ads, x, x, kind), *bench._resampling(x),
                         *bench._other_cases(x, np.where(kind == 1, np.nan, x).astype(np.float32)),
                         *bench._by_key(x, 7), *bench._irregular_cases(x, there, x, here, kind)):
        run = query.start()
        assert run.wait()
        for text in run.kernels().values():
            assert max(len(kernel.splitlines()) for kernel in text.split("\n\n\n# ")) <= 80


def test_a_users_text_can_never_become_code() -> None:
    words = 'a"""\nimport os\n# '
    query = log().where(col.name == words).tumbling_window(10).aggregate(n=wb.count())
    assert query.collect().num_rows == 0
    assert not any(line.startswith("import os") for line in query.kernels().splitlines())

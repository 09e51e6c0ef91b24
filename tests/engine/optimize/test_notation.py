"""explain() prints what is over time in the notation of the TiLT paper."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest

import whimbrel as wb
from bench.applications import Samples, applications
from whimbrel import Stream, col
from whimbrel.operators import Assume, Select, Where
from whimbrel.optimize import optimize, plan_notation
from whimbrel.optimize.plan_notation import notation_of
from whimbrel.plan import Node, Source

GOLDEN = Path(__file__).parent / "golden"
NAMES = [each.name for each in applications(Samples(2))]
AT = np.datetime64("2024-01-01", "ms") + np.arange(50) * np.timedelta64(1_000, "ms")


def log() -> Stream:
    columns = {"t": AT, "px": np.arange(50.0), "card": np.arange(50) % 3, "opens": np.arange(50) % 10 == 0}
    return wb.from_arrow(columns, time="t", name="ticks").select("px", "card", "opens")


def parts(plan: Node) -> list[list[str]]:
    """The lines of each part that is over time; those of the whole plan if it only goes row by row."""
    found = list(plan_notation((plan,)).values())
    by_row = all(isinstance(node.op, Source | Select | Where | Assume) for node in plan.walk())
    return found or ([notation_of(plan)] if by_row else [["no part is over time"]])


@pytest.mark.parametrize("name", NAMES)
def test_the_notation_of_an_application_is_as_reviewed(name: str) -> None:
    blocks = []
    for assumed in (True, False):
        each = next(each for each in applications(Samples(50, assumed=assumed)) if each.name == name)
        for form, build in (("expressions", each.expressions), ("operators", each.operators)):
            lines = "\n\n".join("\n".join(part) for part in parts(optimize(build().node)))
            blocks.append(f"# {form}, {'periodic' if assumed else 'as it is'}\n{lines}\n")
            _check_names(lines)
    text = "\n".join(blocks)
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("WHIMBREL_UPDATE_GOLDEN") == "1":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


def _check_names(lines: str) -> None:
    """What a definition reads was defined before, or is a column of an input."""
    for part in lines.split("\n\n"):
        known: set[str] = set()
        for line in (rows := part.splitlines())[:-1]:
            made, body = re.fullmatch(r"~(\w+)\[t\] = (.*)", line).groups()
            read = set(re.findall(r"~(\w+)\[", body))
            assert read - known <= {"log", "log2", "ticks"}, line
            known.add(made)
            assert (made == "out") == (line is rows[-2])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("assumed", [True, False], ids=["periodic", "as it is"])
def test_a_query_reads_at_least_as_far_as_its_notation_says(name: str, assumed: bool) -> None:
    each = next(each for each in applications(Samples(50, assumed=assumed)) if each.name == name)
    plan = optimize(each.expressions().node)
    reads = [re.search(r"reads (\d+) back, (\d+) ahead", part[-1]) for part in parts(plan)]
    for found in reads:
        if found is not None and plan.reach is not None:
            assert plan.reach.back >= int(found[1])
            assert plan.reach.forward >= int(found[2]) - 2  # a cell reads less than its width, twice


def test_explain_prints_it_with_durations_of_the_user() -> None:
    query = log().select(r=col.px / col.px.ago("1m") - 1, s=col.px - wb.mean(col.px).past("5s", ahead="5s", min_rows=3))
    assert query.explain().split("runs as\n")[1].splitlines()[1:4] == [
        "│  ~mean5s[t] = ⊕(mean, ~ticks.px[t-5s : t+5s]), min_rows=3",
        "│  ~out[t] = {r: ~ticks.px[t] / ~ticks.px[t-1m] - 1, s: ~ticks.px[t] - ~mean5s[t]}",
        "│  one event at a time; reads 1m back, 5s ahead; by position; threads by time",
    ]


def test_keys_and_rows() -> None:
    limit = (wb.mean(col.px) + 3 * wb.std(col.px)).past(rows=10).previous()
    query = log().select("px", "card").group_by("card").where(col.px > limit)
    assert parts(optimize(query.node)) == [[
        "~value10[t] = ⊕(mean, ~ticks.px[last(10, t)]) + 3 * ⊕(std, ~ticks.px[last(10, t)])",
        "~out[t] = ~ticks.px[t] > ~value10[previous(t)] ? {px: ~ticks.px[t], card: ~ticks.card[t]} : φ",
        "one event at a time per card; reads 11 events back, 0 ahead; by position; threads by key",
    ]]


def test_running_values_read_all_events_before() -> None:
    query = log().select(e=wb.ema(col.px, halflife="10s"), y=wb.iir(col.px, b=[1], a=[1, -0.9]),
                         total=wb.sum(col.px).so_far(reset=col.opens), held=wb.max(col.px).so_far().ago("3s"))
    assert parts(optimize(query.node)) == [[
        "~ema[t] = ⊕(ema(halflife='10s'), ~ticks.px[: t])",
        "~iir[t] = ⊕(iir(b=[1.0], a=[1.0, -0.9]), ~ticks.px[: t])",
        "~sum[t] = ⊕(sum, ~ticks.px[last(~ticks.opens[t]) : t])",
        "~max[t] = ⊕(max, ~ticks.px[: t])",
        "~out[t] = {e: ~ema[t], y: ~iir[t], total: ~sum[t], held: ~max[t-3s]}",
        "one event at a time; reads all events before, 0 ahead; by position and one state; one thread",
    ]]


def test_values_at_multiples_and_samples() -> None:
    [sampled] = parts(optimize(log().over_time(every="10s", m=wb.mean(col.px).past("1m"), px=col.px).node))
    assert sampled == [
        "~mean1m[t] = ⊕(mean, ~ticks.px[t-1m : t])",
        "~out[t] = {m: ~mean1m[t], px: ~ticks.px[t]}, t at multiples of 10s",
        "one event at a time; reads 1m back, 0 ahead; by position; threads by time",
    ]
    [line] = parts(optimize(log().select("px").resample("5s", how="linear", limit="20s").node))
    assert line == ["~out[t] = {px: ~ticks.px[linear(t)]}, t at multiples of 5s",
                    "one event at a time; reads 20s back, 20s ahead; one sample at a time; threads by time"]


@pytest.mark.parametrize("assumed", [True, False])
def test_a_constant_at_another_time_is_there_where_an_event_is(assumed: bool) -> None:
    samples = log().assume(periodic="1s") if assumed else log()
    [lines] = parts(optimize(samples.select(y=col.px.ago("3s").exists()).node))
    body, at = ("~ticks[t-3s]", "t") if assumed else ("~ticks[t]", "t-3s")
    assert lines[:2] == [f"~v[t] = {body} ≠ φ ? lit(True) : φ", f"~out[t] = {{y: ~v[{at}].is_not_null()}}"]
    assert lines[2].startswith("one event at a time; reads 3s back, 0 ahead; ")


def test_what_occurs_at_several_times_is_defined_once() -> None:
    step = col.px - col.px.ago("1s")
    [lines] = parts(optimize(log().select(z=step * step.ago("5s")).node))
    assert lines[:2] == ["~v[t] = ~ticks.px[t] - ~ticks.px[t-1s]", "~out[t] = {z: ~v[t] * ~v[t-5s]}"]


def test_a_part_of_windows_that_keep_all_values_has_a_reason() -> None:
    query = log().select(z=wb.median(col.px).past("1m") - wb.mean(col.px).past("1m"))
    assert query.explain().splitlines()[-1] == (
        "note: aggregate(median(col.px).past('1m')=median(col.px)) is not over time: "
        "median(col.px) keeps all values of a window")


def test_streams_without_temporal_steps_have_no_notation() -> None:
    for query in (log().where(col.px > 3), log().tumbling_window("10s").aggregate(n=wb.count())):
        assert "~" not in query.explain()
    assert plan_notation((optimize(log().where(col.px > 3).node),)) == {}


def test_latency_bands_print_it_once_for_each_plan() -> None:
    bands = log().select(m=wb.mean(col.px).past("5s")).at_latencies("1s", "2s")
    assert bands.explain().count("~mean5s[t] = ⊕(mean, ~") == 2

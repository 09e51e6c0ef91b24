"""Which ranges of a function of time a view asks for when a reader zooms, and what it then draws."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import whimbrel as wb
from whimbrel import Stream, col
from whimbrel_workbench.frames import PLAIN, Options
from whimbrel_workbench.frames.extent import Extent
from whimbrel_workbench.frames.lines import Lines, lines_of_range
from whimbrel_workbench.frames.result import Result
from whimbrel_workbench.sessions import columns_of
from whimbrel_workbench.sessions.visible_range import VisibleRange, can_be_asked
from whimbrel_workbench.views import NOBODY
from whimbrel_workbench.views.lines import LinesView

ROWS = 20_000
AT = np.datetime64("2024-01-01", "ms") + np.arange(ROWS) * np.timedelta64(1_000, "ms")
X = np.random.default_rng(2).normal(size=ROWS)


def source() -> Stream:
    return wb.from_arrow({"t": AT, "x": X, "k": np.arange(ROWS) % 2}, time="t", name="log")


def log() -> Stream:
    return source().select("x", "k")


def smooth() -> Stream:
    return log().over_time(every="1s", m=wb.mean(col.x).past("10s"))


def position(row: int) -> float:
    """Where a row is on the axis, in milliseconds."""
    return float(AT[row].astype(np.int64))


def drawn(query: Stream, table: object = None) -> Lines:
    found = query.collect() if table is None else table
    made = lines_of_range(Result(found, (len(found),)), columns_of(query, Options.of()), PLAIN)
    assert made is not None
    return made


def test_functions_of_time_over_logs_are_asked() -> None:
    assert can_be_asked(smooth())
    assert can_be_asked(log().hold(limit="1m").over_time(m=wb.max(col.x).past("10s")))
    assert can_be_asked(log().group_by("k").over_time(every="1s", m=wb.mean(col.x).past("10s")))
    assert not can_be_asked(log())
    assert not can_be_asked(log().select(m=wb.mean(col.x).past("10s")))
    assert not can_be_asked(smooth().on(wb.replay(source(), speed=10, reorder_latency=0)))
    assert not can_be_asked(smooth().at_latencies("1s", "2s"))


def test_a_range_is_asked_coarse_first_and_then_at_the_precision_of_the_pixels() -> None:
    asking = VisibleRange(smooth(), columns_of(smooth(), Options.of()), PLAIN, lambda show: show())
    x = Extent(position(5_000), position(9_000))
    answers = [query.collect() for query in asking.queries(x, 1_000)]
    rows = [answer.num_rows for answer in answers]
    assert rows == sorted(rows)
    assert 1_000 <= rows[-1] <= 2_000 < ROWS  # two points for a pixel, at most
    assert rows[0] <= rows[-1] / 8
    whole = dict(zip(*(smooth().collect()[name].to_pylist() for name in ("start", "m")), strict=True))
    starts = [set(answer["start"].to_pylist()) for answer in answers]
    assert starts[0] < starts[1] < starts[2]
    for at, value in zip(answers[-1]["start"].to_pylist(), answers[-1]["m"].to_pylist(), strict=True):
        # A value at t is that of the last second before it.
        assert value == whole[at.replace(microsecond=0)]


def test_few_events_are_asked_for_themselves() -> None:
    asking = VisibleRange(smooth(), columns_of(smooth(), Options.of()), PLAIN, lambda show: show())
    *_, last = asking.queries(Extent(position(5), position(5) + 900), 1_000)
    assert last.collect()["start"].to_pylist() == [AT[5].item()]


def test_the_newest_request_wins() -> None:
    shown: list[tuple[Extent, Lines]] = []
    done = threading.Event()
    drawing = threading.Lock()

    def change(draw: Callable[[], None]) -> None:
        with drawing:
            draw()

    asking = VisibleRange(smooth(), columns_of(smooth(), Options.of()), PLAIN, change)
    first, second = Extent(position(0), position(9_000)), Extent(position(4_000), position(4_100))

    def show(x: Extent, lines: Lines) -> None:
        shown.append((x, lines))
        if x is second and len(lines.lines[0].x) > 500:
            done.set()

    with drawing:  # nothing of the first one is shown before the second one is asked
        asking.ask(first, 1_000, show)
        asking.ask(second, 1_000, show)
    assert done.wait(60)
    assert {x for x, _ in shown} == {second}
    sizes = [len(lines.lines[0].x) for _, lines in shown]
    assert sizes == sorted(sizes)
    asking.ask(first, 1_000, show)
    asking.forget()


@pytest.mark.parametrize("keys", [False, True])
def test_points_of_a_range_replace_those_of_the_whole(keys: bool) -> None:
    query = log().group_by("k").over_time(every="1s", m=wb.mean(col.x).past("10s")) if keys else smooth()
    whole = drawn(query)
    assert whole.thinned
    x = Extent(position(8_000), position(8_200))
    spliced = whole.with_range(x, drawn(query, query.between(int(x.low), int(x.high) + 1).collect()))
    for line, before in zip(spliced, whole, strict=True):
        inside = (line.x >= x.low) & (line.x <= x.high)
        assert np.count_nonzero(inside) == 201
        assert (np.diff(line.x) > 0).all()
        assert line.joined[1:].all()
        assert line.slot == before.slot
        outside = (before.x < x.low) | (before.x > x.high)
        assert line.x[~inside].tolist() == before.x[outside].tolist()


def test_no_stroke_to_a_point_beyond_the_range_is_visible() -> None:
    picture = drawn(smooth())
    ranges: list[Extent] = []
    view = LinesView(picture, replace(NOBODY, zoom_to=lambda x, *_rest: ranges.append(x)))
    low, high = position(8_000), position(8_200)
    view._viewport._look(f"[true, {low}, {high}, -1, 1, 800, 200]")
    [x] = ranges
    view._show_range(x, drawn(smooth(), smooth().between(int(x.low), int(x.high) + 1).collect()))
    xs = np.concatenate([path for each in view._paths for path in each.data_source.data["xs"]])
    visible = np.flatnonzero((xs >= low) & (xs <= high))
    assert np.diff(xs[visible[0] - 1:visible[-1] + 2]).max() == 1_000


def test_a_view_asks_when_points_are_left_out_and_forgets_when_the_reader_returns() -> None:
    asked: list[tuple[Extent | None, int]] = []
    picture = drawn(smooth())
    host = replace(NOBODY, zoom_to=lambda x, width_px, _show: asked.append((x, width_px)))
    view = LinesView(picture, host)
    report = view._viewport._look
    low, high = position(100), position(200)
    report(f"[true, {low}, {high}, -1, 1, 800, 200]")
    assert asked == [(Extent(position(75), position(225)), 1_200)]  # a quarter more on each side
    few = drawn(smooth(), smooth().between("00:00:00", "00:01:00").collect())
    view._show_range(Extent(low, high), few)
    report(f"[false, {low}, {high}, -1, 1, 800, 200]")
    assert asked[-1] == (None, 0)
    assert view._closer is None
    view.draw(few)
    assert not few.thinned
    report(f"[true, {low}, {high}, -1, 1, 800, 200]")
    assert asked[-1] == (None, 0)

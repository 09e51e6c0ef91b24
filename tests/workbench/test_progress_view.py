"""Early answers as frames: intervals on marks, their quality in words, steering, and what was remembered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from tests.workbench.test_live_session import Screen
from whimbrel import col
from whimbrel.stream import Stream
from whimbrel_workbench.frames import Bars, Bound, Frame, Lines, Options, Quality
from whimbrel_workbench.frames.format_numbers import format_fraction
from whimbrel_workbench.frames.mark import Mark
from whimbrel_workbench.sessions import LiveSession, ProgressiveRun
from whimbrel_workbench.views.bars import words_of
from whimbrel_workbench.views.estimate_quality import pinned_html, quality_html, sparkline_svg
from whimbrel_workbench.views.static_html import still_html

ROWS = 60_000
CHANCE = np.random.default_rng(5)
NAMES = np.array(["JFK", "LGA", "EWR"])
AIRPORT = CHANCE.integers(0, 3, ROWS)
LOG = wb.from_arrow(pa.table({"at": np.arange(ROWS), "airport": NAMES[AIRPORT],
                              "delay": CHANCE.exponential(9, ROWS) * (1 + 0.3 * (AIRPORT == 0)),
                              "gate": np.arange(ROWS) // 1_000}), time="at", name="flights")
DELAYS = LOG.group_by("airport").tumbling_window(ROWS).aggregate(
    n=wb.count(), delay=wb.mean(col.delay), worst=wb.max(col.delay), least=wb.min(col.delay), first=wb.first(col.delay))
KEPT = LOG.group_by("airport").tumbling_window(ROWS).aggregate(
    middle=wb.median(col.delay), delays=wb.count_distinct(col.delay))
SPANS = LOG.tumbling_window(6_000).aggregate(delay=wb.mean(col.delay))


class Held:
    """A feed of estimates that stands after so many updates."""

    def __init__(self, query: Stream, updates: int, **options: object) -> None:
        self.progress = query.progressive(every="2%", seed=2, block_rows=128)
        for _ in range(updates):
            next(self.progress)
        self.screen = Screen()
        self.progress.until(seconds=1e-9)  # one update more, and it waits
        self.feed = LiveSession(query, Options(**options), self.screen.show, redraws_per_s=50,
                                progressive=self.progress)
        self.feed.start()
        self.screen.wait_for("paused")

    @property
    def run(self) -> ProgressiveRun:
        assert isinstance(self.feed.run, ProgressiveRun)
        return self.feed.run

    def frame(self) -> Frame:
        return self.feed.present()

    def finish(self) -> Frame:
        self.feed.refine(ProgressiveRun.finish)
        return self.screen.wait_for("finished")


@pytest.mark.parametrize(("query", "value"), ((DELAYS, "delay"), (KEPT, "middle"), (KEPT, "delays")),
                         ids=("mean", "median", "distinct"))
def test_bars_carry_intervals_that_meet_at_the_end_in_the_exact_values(query: Stream, value: str) -> None:
    held = Held(query, 10, kind="bar", y=value)
    early = held.frame()
    assert isinstance(early.picture, Bars)
    assert early.picture.estimated
    assert all(bar.estimate and bar.low < bar.length < bar.high for bar in early.picture.bars)
    assert early.quality is not None
    assert early.quality.headline.startswith("error at most ")
    assert early.quality.headline.endswith("% (95% confidence)")
    assert early.status.fraction_read < 0.5
    last = held.finish()
    assert isinstance(last.picture, Bars)
    exact = dict(zip(*(query.collect()[name].to_pylist() for name in ("airport", value)), strict=True))
    then = {bar.name: bar for bar in early.picture.bars}
    for bar in last.picture.bars:
        assert bar.length == pytest.approx(exact[bar.name])
        assert not bar.estimate
        assert then[bar.name].low <= bar.length <= then[bar.name].high
    assert last.quality is not None
    assert last.quality.headline == "exact"


@pytest.mark.parametrize(("value", "words"), (
    ("worst", "lower bound, can only grow"), ("least", "upper bound, can only shrink"),
    ("first", "no error bound possible")))
def test_what_cannot_be_bounded_says_so(value: str, words: str) -> None:
    held = Held(DELAYS, 5, kind="bar", y=value)
    frame = held.frame()
    assert frame.quality is not None
    assert words in frame.quality.headline
    assert isinstance(frame.picture, Bars)
    assert not any(np.isfinite(bar.low) and np.isfinite(bar.high) for bar in frame.picture.bars)
    held.feed.close()


def test_lines_carry_bands_and_a_stretch_of_time_is_read_first() -> None:
    held = Held(SPANS, 15)
    picture = held.frame().picture
    assert isinstance(picture, Lines)
    assert picture.estimated
    assert picture.lines[0].bands()
    held.feed.prioritize(Mark(at=24_000.0, to=36_000.0))
    held.feed.refine(lambda run: run.query.until(error=1e-9))
    held.feed.resume()
    while not {24_000, 30_000} <= exact(held.progress):
        assert not held.run.wait(0.01)
    assert held.progress.latest.fraction_read < 0.65
    held.feed.pause()
    [line] = held.frame().picture
    assert line.settled.any()
    assert not line.bounded[line.settled].any()
    held.feed.close()


def test_what_a_mark_stands_for_is_read_first() -> None:
    held = Held(LOG.group_by("gate").tumbling_window(ROWS).aggregate(n=wb.count()), 5, kind="bar")
    last = held.frame().picture.bars[-1]
    held.feed.prioritize(Mark(key=last.name))
    held.feed.refine(lambda run: run.query.until(error=1e-9))
    held.feed.resume()
    first = int(last.name) * 1_000  # rows of a gate lie together
    blocks, scan = held.progress.block_run.blocks, held.progress.block_run.scan
    while not scan.read[(blocks.stop > first) & (blocks.first < first + 1_000)].all():
        assert not held.run.wait(0.005)
    assert held.progress.latest.fraction_read < 0.4
    held.feed.close()


def exact(progress: wb.ProgressiveQuery) -> set[int]:
    return set(progress.latest.table.slice(0, progress.latest.settled)["start"].to_pylist())


def test_a_key_that_lies_everywhere_is_said_to() -> None:
    held = Held(DELAYS, 5, kind="bar", y="delay")
    held.feed.prioritize(Mark(key="JFK"))
    with held.run._changed:
        held.run._changed.wait_for(lambda: "cannot prioritize" in held.run._first, 10)
    assert "cannot prioritize" in "; ".join(held.frame().quality.notes)
    held.feed.close()


def test_claims_and_pictures_are_held_to_the_exact_answer() -> None:
    held = Held(DELAYS, 10, kind="bar", y="delay")
    held.feed.refine(lambda run: run.add_claim("JFK", "LGA", "delay"))
    held.feed.refine(ProgressiveRun.pin)
    wrong = held.progress.latest.compare({"airport": "LGA"}, {"airport": "JFK"}, "delay")
    held.progress.add_claim(type(wrong)("delay", wrong.left, wrong.right, 1.0, 0.9))  # as a sample may mislead
    last = held.finish()
    claim, overturned, picture = last.quality.pinned
    assert (claim.verdict, claim.now) == ("holds", "JFK > LGA (delay), exactly")
    assert (overturned.verdict, overturned.now) == ("overturned", "LGA < JFK (delay), exactly")
    assert picture.verdict == "holds"
    assert "3 of 3 exact values are within their intervals" in picture.now
    assert {bar.name for bar in last.picture.bars if bar.flag} == {"JFK", "LGA"}
    assert all(np.isfinite(bar.before) for bar in last.picture.bars)
    largest = [replace(bar, flag=False, length=62.0, before=before) for bar in last.picture.bars[:1]
               for before in (60.0, 62.0)]
    assert [words_of(bar) for bar in largest] == ["62 (+2 from 60)", "62 (unchanged)"]
    assert "⚑ proved wrong" in pinned_html(last.quality.pinned)
    assert "⚑" in still_html(last)


@pytest.mark.parametrize("value", ("delay", "first"))
def test_of_a_picture_without_intervals_the_end_says_how_far_off_it_was(value: str) -> None:
    held = Held(DELAYS, 0, kind="bar", y=value)
    held.feed.refine(ProgressiveRun.pin)
    early = held.frame()
    [picture] = early.quality.pinned
    assert (picture.verdict, picture.now) == ("open", "no value with an interval is exact yet")
    last = held.finish()
    then = {bar.name: bar.length for bar in early.picture.bars}
    worst = max(abs(then[bar.name] - bar.length) / bar.length for bar in last.picture.bars)
    [picture] = last.quality.pinned
    assert picture.verdict == "exact"
    assert picture.now == f"no intervals for {value}; 3 values were wrong by up to {format_fraction(worst)}"
    assert "● exact" in pinned_html(last.quality.pinned)
    assert "not exact yet" not in pinned_html(last.quality.pinned)


def test_a_count_that_is_known_is_not_taken_for_an_answer_that_is_exact() -> None:
    """Times of blocks say how many rows a window has, while nothing is known of their mean."""
    query = LOG.tumbling_window(3_000).aggregate(n=wb.count(), delay=wb.mean(col.delay))
    held = Held(query, 5, kind="line", y="n")
    answer, quality = held.progress.latest, held.frame().quality
    assert answer.settled == 0
    assert np.isinf(answer.relative_error)
    assert quality.headline == "no error, not settled yet"
    assert f"0 of {len(answer.table)} rows exact" in quality.notes
    assert "within" not in f"{quality.headline}; {'; '.join(quality.notes)}"
    assert held.run.quality("delay").headline == "no error bound yet"
    held.feed.close()


def test_stopping_keeps_the_estimate_and_finishing_reads_only_what_is_left() -> None:
    held = Held(DELAYS, 3, kind="bar", y="n")
    held.feed.stop(keep=True)
    kept = held.screen.wait_for("stopped")
    assert kept.picture.estimated
    rows = held.run.metrics.rows
    last = held.finish()
    assert sum(bar.length for bar in last.picture.bars) == ROWS
    assert rows < ROWS
    held.feed.restart()
    assert held.feed.progressive is not held.progress
    held.screen.wait_for("finished")


def test_what_is_answered_in_the_order_of_time_says_why_there_is_no_interval() -> None:
    query = LOG.group_by("airport").tumbling_window(ROWS).aggregate(all=wb.collect(col.delay))
    screen = Screen()
    feed = LiveSession(query, Options(kind="bar"), screen.show, progressive=query.progressive(every="20%"))
    feed.start()
    screen.wait_for("finished")
    qualities = [frame.quality for frame in screen.frames if frame.quality is not None and not frame.quality.final]
    for quality in qualities:
        assert quality.headline == "partial result, no error bound"
        assert "cannot be merged from parts" in quality.notes[0]


def test_the_bound_and_its_history_are_drawn_with_an_outlook() -> None:
    history = tuple(Bound(second, 0.005 * second, 0.2 / (second / 2)**0.5) for second in range(2, 22, 2))
    quality = Quality("delay", "both", rows=4, exact=0, known=3, half=0.05, confidence=0.95, unseen=0.04, why="",
                      history=history, goal=0.02, first="", final=False)
    assert quality.headline == "error at most 6.3% for 3 of 4 estimates (95% confidence)"
    assert quality.outlook == "about 85 s to 2%, about 3 min to exact"
    html = quality_html(quality)
    assert "groups in fewer than 4% of the blocks may be missing" in html
    assert "1 without an error bound below 100%" in html
    assert "The error bound fell from 20% to 6.3%" in sparkline_svg(history, 0.02)
    assert "The error bound fell from 20% to 0%" in sparkline_svg(history, 0.02, final=True)  # exact, above the target


def test_what_has_an_end_says_so_before_anything_was_read() -> None:
    for order, share in (("random", 0.0), ("time", None)):
        progress = DELAYS.progressive(order=order)
        with progress._turn:  # its reader waits
            run = ProgressiveRun(progress, pa.schema([("n", pa.int64())]), ())
            assert run.metrics.fraction_read == share
        run.stop()


def late_rows(seed: int) -> tuple[wb.stream.Lateness, wb.Stream]:
    """The lateness of earlier rows, and later ones, of which a fifth is late."""
    chance = np.random.default_rng(seed)
    at = np.sort(chance.integers(0, 120_000, 80_000))
    seen = at + (chance.exponential(400, len(at)) * (chance.random(len(at)) < 0.2)).astype(int)
    order = np.argsort(seen, kind="stable")
    table = pa.table({"at": at[order], "seen": seen[order], "x": chance.normal(5, 1, len(at))})
    before, after = (wb.from_arrow(part, time="at", arrival="seen", name="rows")
                     for part in (table.slice(0, 65_000), table.slice(65_000)))
    return wb.lateness(before), after


def test_windows_that_a_feed_has_passed_carry_intervals_for_late_rows() -> None:
    late, rows = late_rows(1)
    query = rows.tumbling_window(1_000).aggregate(n=wb.count(), x=wb.mean(col.x)).on(
        wb.replay(rows, speed=float("inf"), reorder_latency=50_000, every=100))
    progress = query.progressive(every=400, late=late)
    for _ in range(25):
        next(progress)
    progress.until(seconds=1e-9)
    screen = Screen()
    feed = LiveSession(query, Options(kind="line", y="n"), screen.show, redraws_per_s=50, progressive=progress)
    feed.start()
    screen.wait_for("paused")
    frame = feed.present()
    assert isinstance(frame.picture, Lines)
    [line] = frame.picture
    assert frame.picture.estimated
    assert line.bands()
    assert line.settled[0]
    assert not line.settled[-1]
    assert frame.quality is not None
    assert "estimates" in frame.quality.headline
    assert any("are expected to be late, at most" in note for note in frame.quality.notes)
    assert "expected to be late" in still_html(frame)
    feed.refine(ProgressiveRun.finish)
    last = screen.wait_for("finished")
    assert last.quality.headline == "exact"
    feed.close()


def test_a_log_that_ends_now_was_read_and_keeps_intervals_for_late_rows() -> None:
    late, rows = late_rows(2)
    query = rows.tumbling_window(1_000).aggregate(n=wb.count())
    screen = Screen()
    feed = LiveSession(query, Options(kind="line", y="n"), screen.show, redraws_per_s=50,
                progressive=query.progressive(every="20%", late=late))
    feed.start()
    last = screen.wait_for("finished")
    assert isinstance(last.picture, Lines)
    assert last.quality is not None
    assert 0 < last.quality.exact < last.quality.rows
    assert any("are expected to be late" in note for note in last.quality.notes)
    [line] = last.picture
    assert line.settled.sum() == last.quality.exact
    assert line.bands()

"""Which rows are read first when a mark is clicked, and who has the last word on whether a run reads on."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import SourceError
from whimbrel.stream import Stream
from whimbrel_workbench.sessions import ProgressiveRun
from whimbrel_workbench.sessions.result_shape import columns_and_keys

ROWS = 6_000
BLOCK = np.arange(ROWS) // 100
ROWS_OF = {"at": np.arange(ROWS), "x": np.random.default_rng(1).random(ROWS)}


def log(**columns: object) -> Stream:
    return wb.from_arrow(pa.table({**ROWS_OF, **columns}), time="at")


def counts(rows: Stream, *keys: str, **computed: object) -> Stream:
    return rows.group_by(*keys, **computed).tumbling_window(ROWS).aggregate(n=wb.count(), m=wb.mean(col.x))


def waiting(query: Stream, updates: int = 3, **asked: object) -> ProgressiveRun:
    """A run that has read a little, and waits."""
    progress = query.progressive(**{"every": "2%", "seed": 2, "block_rows": 64, **asked})
    for _ in range(updates):
        next(progress)
    progress.until(seconds=1e-9)
    run = ProgressiveRun(progress, *columns_and_keys(query))
    assert run.wait(10)
    return run


def row_where(run: ProgressiveRun, name: str, value: object) -> pa.Table:
    table = run.query.latest.table
    return table.slice(table.column(name).to_pylist().index(value), 1)


def obeyed(run: ProgressiveRun) -> None:
    """All that was asked of the reader is done."""
    with run._changed:
        done = []
        run._orders.append(lambda: done.append(True))
        run._changed.notify_all()
        assert run._changed.wait_for(lambda: done, 10)


def first_rows(run: ProgressiveRun) -> set[int]:
    """The rows of the source that lie in the blocks that are read first; empty where none is."""
    scan = run.query.block_run.scan
    left = scan.left if len(scan.later) else ()
    return {row for block in left for row in range(scan.blocks.first[block], scan.blocks.stop[block])}


UNNAMED = pa.array(BLOCK, pa.int64()).cast(pa.time64("us"))
"""Times of day, of which there are no literals."""
NAMED = {
    "bytes": pa.array([b"%d" % each for each in BLOCK]),
    "decimal": pa.array([Decimal(int(each)) / 4 for each in BLOCK], pa.decimal128(10, 2)),
    "nanoseconds of a duration": pa.array(BLOCK, pa.int64()).cast(pa.duration("ns")),
    "nanoseconds of an instant": pa.array(BLOCK + 10**18, pa.int64()).cast(pa.timestamp("ns")),
}


@pytest.mark.parametrize("kind", NAMED.values(), ids=NAMED)
def test_exact_keys_are_sought(kind: pa.Array) -> None:
    run = waiting(counts(log(k=kind), "k"))
    run.prioritize_row(run.query.latest.table.slice(0, 1))
    obeyed(run)
    key = run.query.latest.table["k"][0].as_py()
    assert str(key) in run.quality("m").first


def test_a_key_that_conditions_cannot_name_does_not_end_the_reading() -> None:
    run = waiting(counts(log(k=UNNAMED), "k"))
    run.prioritize_row(run.query.latest.table.slice(0, 1))
    obeyed(run)
    assert run.state == "paused"
    assert run.error is None
    assert run.quality("m").first == "cannot prioritize: k is computed, or of a type without literals"
    run.stop()


def test_a_row_is_sought_by_those_of_its_keys_that_conditions_can_name() -> None:
    run = waiting(counts(log(d=UNNAMED, k=BLOCK), "d", "k"))
    run.prioritize_row(run.query.latest.table.slice(0, 1))
    obeyed(run)
    key = run.query.latest.table["k"][0].as_py()
    assert run.quality("m").first.startswith(f"{key}, ")
    assert first_rows(run) <= set(range(100 * key - 64, 100 * key + 164))
    run.stop()


def test_what_is_read_first_stays_so_when_the_next_wish_comes_to_nothing() -> None:
    run = waiting(counts(log(k=UNNAMED, g=BLOCK), "k", "g"))
    run.prioritize_row(run.query.latest.table.slice(0, 1))
    obeyed(run)
    before, rows = run.quality("m").first, first_rows(run)
    run.prioritize_range(10.0 * ROWS, 11.0 * ROWS)
    obeyed(run)
    assert run.quality("m").first == f"{before}; cannot prioritize: no rows in 60,000 to 66,000"
    assert first_rows(run) == rows
    run.prioritize_all()
    obeyed(run)
    assert run.quality("m").first == ""
    run.stop()


LIKE_BLOCKS = {"k": BLOCK, "j": (BLOCK + 30) % 60}


@pytest.mark.parametrize("query", (
    counts(log(**LIKE_BLOCKS), k=col.j),
    counts(log(**LIKE_BLOCKS).select("x", k=col.j), "k"),
    counts(log(**LIKE_BLOCKS), "k", "j").select("n", "m", k=col.j),
    counts(log(**LIKE_BLOCKS), k=col.j).top_k(5, by=col.n),
), ids=("computed", "selected", "renamed", "ranked"))
def test_a_key_is_sought_in_the_column_that_it_is_whatever_else_has_its_name(query: Stream) -> None:
    run = waiting(query)
    key = run.query.latest.table["k"][0].as_py()
    run.prioritize_row(row_where(run, "k", key))
    obeyed(run)
    there = set(np.flatnonzero(LIKE_BLOCKS["j"] == key).tolist())
    assert first_rows(run) & there
    assert first_rows(run) <= {row + away for row in there for away in (-64, 0, 64)}
    run.stop()


@pytest.mark.parametrize("query", (
    counts(log(**LIKE_BLOCKS), k=col.j % 7),
    log(**LIKE_BLOCKS).group_by("j").tumbling_window(ROWS).aggregate(n=wb.count()).select(k=col.n),
), ids=("computed", "a value"))
def test_a_key_that_is_no_column_of_the_source_steers_nothing(query: Stream) -> None:
    run = waiting(query)
    run.prioritize_row(run.query.latest.table.slice(0, 1))
    obeyed(run)
    assert not first_rows(run)
    assert "cannot prioritize" in run.quality(query.schema.names[-1]).first
    run.stop()


def test_a_key_that_is_missing_is_sought_where_it_is_missing() -> None:
    run = waiting(counts(log(k=pa.array([None if each == 30 else int(each) for each in BLOCK])), "k"))
    run.pause()
    if None not in run.query.latest.table["k"].to_pylist():
        run.query.prioritize(between=(3_000, 3_100))
        next(run.query)
    run.prioritize_row(row_where(run, "k", None))
    obeyed(run)
    assert "(null)" in run.quality("m").first
    run.stop()


def test_days_beyond_those_of_python_do_not_break_a_click() -> None:
    far = pa.array(BLOCK + 2**61, pa.int64()).cast(pa.timestamp("us"))
    run = waiting(counts(log(k=far), "k"))
    run.prioritize_row(run.query.latest.table.slice(0, 1))
    obeyed(run)
    assert run._first_words() == "cannot prioritize: k is computed, or of a type without literals"
    run.stop()


def test_of_windows_over_windows_all_that_a_row_is_made_of_is_read_first() -> None:
    query = log(k=BLOCK).tumbling_window(100).aggregate(m=wb.mean(col.x)).set_duration(1_000).aggregate(m=wb.max(col.m))
    run = waiting(query, updates=10)
    starts = run.query.latest.table["start"].to_pylist()
    start = next(each for each in starts if each >= 2_000)
    unread = run.query.block_run.scan.blocks
    wanted = {row for first, stop, read in zip(unread.first, unread.stop, run.query.block_run.scan.read, strict=True)
              if not read for row in range(first, stop) if start - 900 <= row < start + 100}
    run.prioritize_row(row_where(run, "start", start))
    obeyed(run)
    assert wanted
    assert wanted <= first_rows(run)
    run.stop()


def during_a_step(run: ProgressiveRun, within: str, press: Callable[[], object], when: Callable[[Any], bool]) -> None:
    """Press something once, while the reader is in the step in which something is so."""
    whole = getattr(run.query, within)

    def pressed() -> object:
        found = whole()
        if when(found):
            setattr(run.query, within, whole)
            press()
        return found

    setattr(run.query, within, pressed)


GOOD_ENOUGH, ALL_READ = ("_stop", bool), ("_by_blocks", lambda answer: answer.all_read)


@pytest.mark.parametrize(("within", "when"), (GOOD_ENOUGH, ALL_READ), ids=("good enough", "all read"))
def test_what_was_stopped_during_a_step_stays_stopped(within: str, when: Callable[[Any], bool]) -> None:
    run = waiting(counts(log(k=BLOCK), "k"))
    during_a_step(run, within, run.stop, when)
    run.query.until(seconds=1e-9 if within == "_stop" else None)
    reader = run._reader
    run.resume()
    reader.join(10)
    assert not reader.is_alive()
    assert run.state == "stopped"
    run.finish()
    assert run.wait(10)
    assert run.state == "finished"
    assert sum(run.current_result("n")[0].table["n"].to_pylist()) == ROWS


def test_what_is_paused_while_the_last_rows_are_read_is_finished() -> None:
    run = waiting(counts(log(k=BLOCK), "k"))
    reader = run._reader
    during_a_step(run, ALL_READ[0], run.pause, ALL_READ[1])
    run.finish()
    reader.join(10)
    assert run.state == "finished"


def test_a_pause_that_comes_when_all_was_read_leaves_nothing_waiting() -> None:
    run = waiting(counts(log(k=BLOCK), "k"))
    run.finish()
    assert run.wait(10)
    run.pause()
    run.resume()
    assert run.state == "finished"


def test_finishing_right_after_a_stop_reads_on() -> None:
    run = waiting(counts(log(k=BLOCK), "k"))
    with run._changed:  # the reader sees nothing of it in between
        run.stop()
        run.finish()
    assert run.wait(10)
    assert run.state == "finished"


def test_an_error_of_a_step_that_was_stopped_is_reported_after_it_is_resumed() -> None:
    run = waiting(counts(log(k=BLOCK), "k"))

    def stopped() -> None:
        run.stop()
        raise SourceError("A file is gone.")

    run.query._by_blocks = stopped
    reader = run._reader
    run.query.until()
    run.resume()
    reader.join(10)
    assert run.state == "stopped"
    run.query._by_blocks = lambda: (_ for _ in ()).throw(SourceError("A file is gone."))
    run.finish()
    assert run.wait(10)
    assert (run.state, run.error.what) == ("failed", "A file is gone.")




@pytest.mark.parametrize("beyond", (1e300, 1e19, float("nan"), float("inf")))
def test_a_stretch_beyond_all_times_does_not_break_a_drag(beyond: float) -> None:
    run = waiting(log(k=BLOCK).tumbling_window(100).aggregate(n=wb.count()))
    run.prioritize_range(10.0, beyond)
    obeyed(run)
    assert run.state == "paused"
    assert run.quality("n").first == "cannot prioritize: the range ends outside the calendar"
    run.stop()

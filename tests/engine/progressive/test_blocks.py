"""Blocks that a query is answered from, and the small one that it begins with."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whimbrel as wb
from tests.engine.progressive.test_progressive_query import QUERIES, TABLE, rows
from whimbrel import col
from whimbrel.connect.files.parquet_files import ParquetFiles


@pytest.mark.share(4)
@pytest.mark.parametrize("stored", ("in memory", "in files"))
@pytest.mark.parametrize("query", sorted(QUERIES))
def test_a_first_answer_waits_for_a_part_of_a_large_block(query: str, stored: str, tmp_path: Path,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    """It was there only after a hundred thousand rows, or two row groups: half of what it took."""
    monkeypatch.setattr("whimbrel.progressive.sampling.blocks._FIRST_ROWS", 40)
    pq.write_table(TABLE, tmp_path / "log.parquet", row_group_size=100)
    stream = QUERIES[query](wb.from_arrow(TABLE, time="at") if stored == "in memory" else
                            wb.read_parquet(tmp_path / "log.parquet", time="at"))
    progress = stream.progressive(every="10%", block_rows=200)
    first = next(progress)
    if not progress.fallback_reason:
        assert first.metrics.rows <= (40 if stored == "in memory" else 100)
        assert len(progress.block_run.blocks) in (31, 32, 35)
        assert first.table.num_rows or query == "joined"  # of so few rows none may have a partner
    for answer in itertools.islice(progress, 4):
        assert answer.table.num_rows
    if not progress.fallback_reason:
        assert progress.block_run.phases == 1  # a block alone claims nothing: the others have all of the error
        progress.prioritize(between=(1_000, 2_000))
        assert progress.block_run.phases == 2
    assert rows(progress.finish()) == rows(stream.collect())


def test_a_table_in_pieces_gives_the_same_answers_as_one_in_one_piece() -> None:
    """Each of its blocks was made a table of its own, whose order was checked again."""
    chance = np.random.default_rng(4)
    table = pa.table({"at": np.arange(300_000), "k": pa.array(chance.choice(["a", "b"], 300_000)).dictionary_encode(),
                      "x": chance.integers(0, 9, 300_000)})
    pieces = pa.concat_tables([table.slice(0, 70_001), table.slice(70_001, 5), table.slice(70_006)])
    assert pieces["k"].num_chunks == 3
    answers = []
    for each in (table, pieces):
        query = wb.from_arrow(each, time="at").group_by("k").tumbling_window(300_000).aggregate(
            n=wb.count(), total=wb.sum(col.x))
        progress = query.progressive(every="20%", block_rows=70_000, order="random")
        answers.append([answer.table for answer in progress])
        assert rows(query.progressive(order="newest").finish()) == rows(query.collect())
    one, other = answers
    assert len(one) == len(other) == 5
    assert all(table.equals(again) for table, again in zip(one, other, strict=True))


@pytest.mark.parametrize("windows", (
    lambda s: s.tumbling_window(1_000), lambda s: s.tumbling_window(1_000, label="end", offset=70),
    lambda s: s.hopping_window(1_000, 250), lambda s: s.tumbling_window(20_000)), ids=("", "label", "hopping", "one"))
def test_how_many_rows_windows_have_is_said_before_a_row_is_read(windows: Any, tmp_path: Path,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    at = np.sort(np.random.default_rng(1).integers(0, 10_000, 40_000))
    pq.write_table(pa.table({"at": at}), tmp_path / "log.parquet", row_group_size=400)
    query = windows(wb.read_parquet(tmp_path / "log.parquet", time="at")).aggregate(n=wb.count())
    exact = {row["start"]: row["n"] for row in query.collect().to_pylist()}
    progress = query.progressive(every="10%")
    with monkeypatch.context() as without:
        without.setattr(ParquetFiles, "_decode", None)
        first = next(progress)
    assert (first.metrics.rows, first.final) == (0, False)
    assert "0.0% of the rows read; 0 of " in first.summary
    assert first.summary.endswith("groups may be missing")
    answers = [first, *progress]
    assert len(answers) == 12
    for answer in answers:
        found = {row["start"]: row for row in answer.table.to_pylist()}
        inside = [start for start in exact if 100 < start < 8_000]
        assert len(exact) - 4 <= len(found) <= len(exact)
        assert all(start in found for start in inside)
        assert all(row["n_low"] <= exact[start] <= row["n_high"] for start, row in found.items())
        assert all(abs(found[start]["n"] / exact[start] - 1) < 0.05 for start in inside)
    assert {start: row["n"] for start, row in found.items()} == exact


def test_nothing_is_said_before_a_row_is_read_where_only_rows_tell() -> None:
    for query in (QUERIES["whole"], lambda s: s.tumbling_window(500).aggregate(n=wb.count(), total=wb.sum(col.i)),
                  lambda s: s.where(col.i > 3).tumbling_window(500).aggregate(n=wb.count())):
        assert next(query(wb.from_arrow(TABLE, time="at")).progressive(every="10%")).metrics.rows > 0

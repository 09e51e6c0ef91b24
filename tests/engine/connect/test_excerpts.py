"""Blocks of a source that are read one after the other: the same rows as those of each excerpt, in any order."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whimbrel.batch import Batch, table_from_batches
from whimbrel.connect import ArrowSource, ParquetSource
from whimbrel.connect.files import parquet_blocks
from whimbrel.connect.files.parquet_files import ParquetFiles
from whimbrel.errors import SourceError
from whimbrel.plan import Excerpts, Source

ROWS = 500
LOG = pa.table({
    "t": pa.array(np.arange(ROWS)).cast(pa.timestamp("ms", "UTC")),
    "until": pa.array(np.arange(ROWS) + 7).cast(pa.timestamp("ms", "UTC")),
    "key": [f"key {row % 7}" for row in range(ROWS)],
    "half": pa.array(np.arange(ROWS) / 2),
    "x": pa.array([None if row % 5 == 0 else row / 2 for row in range(ROWS)]),
    "odd": pa.array(np.arange(ROWS) % 2 == 1),
})
STEPS = ((384, 448), (0, 64), (64, 128), (448, 500), (128, 320))


def read(excerpts: Excerpts, first: int, stop: int) -> pa.Table:
    return table(excerpts.source, [batch for batch in excerpts.read(first, stop) if batch is not None])


def table(source: Source, found: list[Batch]) -> pa.Table:
    return table_from_batches(found[0].schema, found).combine_chunks()


@pytest.mark.parametrize("columns", (("half", "key"), ("x", "odd")), ids=("shared", "copied"))
@pytest.mark.parametrize("end", (None, "until"))
@pytest.mark.parametrize("stored", ("one chunk", "chunks", "files", "large row groups"))
def test_they_have_the_rows_of_each_excerpt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: str,
                                            end: str | None, columns: tuple[str, ...]) -> None:
    if stored == "large row groups":
        monkeypatch.setattr(parquet_blocks, "_MAX_BYTES", 0)
    for number, part in enumerate((LOG.slice(0, 320), LOG.slice(320))):
        pq.write_table(part, tmp_path / f"{number}.parquet", row_group_size=64)
    source: Source = (ArrowSource(LOG if stored == "one chunk" else pa.concat_tables([LOG.slice(0, 99), LOG.slice(99)]),
                                  time="t", end=end) if "chunk" in stored
                      else ParquetSource(sorted(tmp_path.glob("*.parquet")), time="t", end=end))
    excerpts = source.excerpts(columns)
    for number, (first, stop) in enumerate(STEPS):
        expected = [batch for batch in source.excerpt(first, stop).read(columns) if batch is not None]
        assert read(excerpts, first, stop).equals(table(source, expected))
        if number != 2:  # what is expected need not come
            excerpts.expect([STEPS[(number + 1 + number // 3) % len(STEPS)], STEPS[(number + 3) % len(STEPS)]])


def test_rows_in_one_piece_are_those_of_the_excerpts() -> None:
    excerpts = ArrowSource(LOG, time="t").excerpts(("half",))
    whole = excerpts.in_one_piece
    assert whole is not None
    assert table(excerpts.source, [whole.slice(64, 128)]).equals(read(excerpts, 64, 128))
    assert excerpts.ordered(64, 128)
    late = LOG.take([*range(80), 3, *range(81, ROWS)])
    assert not ArrowSource(late, time="t").excerpts(("half",)).ordered(64, 128)
    for pieces in (ArrowSource(LOG, time="t").excerpts(("x",)),
                   ArrowSource(pa.concat_tables([LOG.slice(0, 99), LOG.slice(99)]), time="t").excerpts(("half",))):
        assert pieces.in_one_piece is None
        assert not pieces.ordered(64, 128)


def test_two_blocks_that_are_expected_are_decoded_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(LOG, tmp_path / "log.parquet", row_group_size=64)
    excerpts = ParquetSource(tmp_path / "log.parquet", time="t").excerpts(("half",))
    both, decoded = threading.Barrier(2), ParquetFiles.decoded

    def meets_another(files: ParquetFiles, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        both.wait(60)
        return decoded(files, columns)

    monkeypatch.setattr(ParquetFiles, "decoded", meets_another)
    excerpts.expect(STEPS[:4])
    assert [len(read(excerpts, *step)) for step in STEPS[:4]] == [64, 64, 64, 52]


def test_a_damaged_block_is_reported_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(LOG.select(["t", "half"]), path, row_group_size=64, compression="none", use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[4:200] = bytes(196)
    path.write_bytes(data)
    excerpts = ParquetSource(path, time="t").excerpts(["half"])
    excerpts.expect([(0, 64)])
    assert len(read(excerpts, 64, 128)) == 64
    with pytest.raises(SourceError, match="cannot be read as Parquet"):
        read(excerpts, 0, 64)

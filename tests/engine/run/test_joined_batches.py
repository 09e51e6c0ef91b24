"""Small batches of a source that is read to its end are joined."""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch, Pulse
from whimbrel.connect.signals import sample_source
from whimbrel.run.joined_batches import joined_batches

_AS_THEY_COME = 32


def _samples(monkeypatch: pytest.MonkeyPatch, gap: int) -> wb.Stream:
    """Many blocks of 8 samples, with a gap."""
    monkeypatch.setattr(sample_source, "BATCH_ROWS", 8)
    values = np.ma.masked_equal(np.where(np.arange(1_000) == gap, -1, np.arange(1_000)), -1)
    return wb.from_samples({"x": values}, rate=1_000, unit="ms")


def _read(stream: wb.Stream) -> Generator[Batch | None]:
    source = next(stream.node.walk()).op
    batches = source.read(source.schema.names)
    assert isinstance(batches, Generator)
    return batches


def test_samples_are_joined_up_to_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _samples(monkeypatch, 700)
    batches = [batch for batch in joined_batches(_read(stream)) if batch is not None]
    assert len(batches) == _AS_THEY_COME + 2
    assert all(isinstance(batch.times, Pulse) for batch in batches)
    assert np.concatenate([batch.sync for batch in batches]).tolist() == [t for t in range(1_000) if t != 700]


def test_answers_are_those_of_batches_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _samples(monkeypatch, 700).rewindow(30, 20).select(m=col.x.seg.mean())
    apart = pa.Table.from_batches(stream.batches())
    assert stream.collect().equals(apart.cast(stream.collect().schema))


def test_rows_before_an_error_of_the_source_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> Generator[Batch | None]:
        for number, batch in enumerate(_read(_samples(monkeypatch, 700))):
            if number == 40:
                raise OSError("gone")
            yield batch

    joined = joined_batches(failing())
    assert sum(len(batch or ()) for batch in islice(joined, _AS_THEY_COME + 1)) == 40 * 8
    with pytest.raises(OSError, match="gone"):
        next(joined)


def test_long_batches_are_views_of_the_memory_of_the_source() -> None:
    values = np.arange(600_000, dtype=np.int16)
    stream = wb.from_samples({"x": values}, rate=1_000, unit="ms")
    long = [batch for batch in joined_batches(_read(stream), long=True) if batch is not None]
    assert [len(batch) for batch in long] == [600_000]
    assert np.shares_memory(np.asarray(long[0].column("x").values), values)
    assert [len(batch or ()) for batch in joined_batches(_read(stream))] == [262_144, 262_144, 75_712]
    windows = stream.rewindow(4_096)
    query = windows.where(col.x.seg.std() > 1_182.4).select(m=col.x.seg.mean())
    assert query.collect().num_rows == len(pa.Table.from_batches(query.batches()))

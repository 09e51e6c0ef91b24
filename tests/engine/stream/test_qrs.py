"""An expression finds the QRS complexes of an annotated ECG."""

from __future__ import annotations

import pytest

from bench.qrs import DELAY, complexes, read, scores, stream_of
from tests.conftest import SHARED_DATA

pytestmark = [pytest.mark.data, pytest.mark.slow]


def test_complexes_are_found_where_they_were_annotated() -> None:
    pytest.importorskip("scipy")
    samples, annotated = read(SHARED_DATA / "ecg_mitbih_100.parquet")
    found = complexes(stream_of(samples)).collect()["start"].to_numpy() - DELAY
    sensitivity, precision = scores(found, annotated)
    assert sensitivity >= 0.99
    assert precision >= 0.99

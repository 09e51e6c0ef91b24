from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from whimbrel.batch import Batch, Column, Field, Schema, Storage
from whimbrel.kernels import selected_rows, tier, with_gaps

ROWS = 5_003


@pytest.mark.parametrize("evenly", (True, False))
@pytest.mark.parametrize("share", (0.0, 0.01, 0.3, 1.0))
@pytest.mark.parametrize("name", ("interpreted", "primitives"))
def test_rows_are_those_that_are_kept(name: str, share: float, evenly: bool) -> None:
    random = np.random.default_rng(6)
    fields = (Field("x", pa.float32()), Field("b", pa.bool_()), Field("s", pa.string()), Field("n", pa.int64()))
    columns = (Column(pa.float32(), random.random(ROWS, np.float32)), Column(pa.bool_(), random.random(ROWS) < 0.5),
               Column(pa.string(), pa.array([str(row) for row in range(ROWS)])),
               Column(pa.int64(), np.arange(ROWS), random.random(ROWS) < 0.5))
    kept = random.random(ROWS) < share
    sync = 5 * np.arange(ROWS) - 7 if evenly else np.sort(random.integers(-ROWS, ROWS, ROWS))
    with tier(name):  # type: ignore[arg-type]
        batch = with_gaps(Batch(Schema(fields), sync, sync + 7, columns))
        for storage in (None, Storage()):
            found, expected = selected_rows(batch, kept, int(kept.sum()), storage), batch.only(kept)
            assert found.gaps == expected.gaps
            assert found.sync.tolist() == expected.sync.tolist()
            assert found.other.tolist() == expected.other.tolist()
            for mine, theirs in zip(found.columns, expected.columns, strict=True):
                assert mine.to_arrow().equals(theirs.to_arrow())

"""Every part of the benchmarks can be imported: nothing else in the tests would notice that one cannot."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.parametrize("name", sorted(file.stem for file in BENCH.glob("*.py") if file.stem != "__main__"))
def test_it_is_there(name: str) -> None:
    assert importlib.import_module(f"bench.{name}").__doc__

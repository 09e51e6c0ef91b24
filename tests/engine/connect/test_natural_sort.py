"""Files of a folder come in the order in which a reader counts them, and errors tell that order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whimbrel as wb
from whimbrel import col
from whimbrel.connect import ParquetSource
from whimbrel.connect.files.natural_sort import natural, natural_path
from whimbrel.errors import DisorderError, SourceError, WhimbrelError


def written(folder: Path, names: Sequence[str], rows: int = 2) -> Path:
    """Files of which each one begins where the one before ends."""
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"t": range(rows * number, rows * (number + 1))}), folder / name, row_group_size=1)
    return folder


@pytest.mark.parametrize("names", (
    ("part-2", "part-10"), ("1", "9", "10", "100"), ("log9", "log10", "log10a"), ("2024-9-30", "2024-10-1"),
    ("v1.9", "v1.10"), ("a", "a1", "b"), ("part-010", "part-10", "part-011"), ("10", "a"), ("x", "x-1"),
    ("part-" + "9" * 30, "part-1" + "0" * 30), ("2/9", "2/10", "10/1"), ("B10", "a2"), ("día-2", "día-10")))
def test_numbers_in_names_count_as_numbers(tmp_path: Path, names: tuple[str, ...]) -> None:
    names = tuple(f"{name}.parquet" for name in names)
    log = written(tmp_path, names)
    for path in (log, str(log / "**" / "*.parquet")):
        assert [file.relative_to(log).as_posix() for file in ParquetSource(path, time="t").paths] == list(names)
    assert wb.read_parquet(log, time="t").collect()["t"].to_pylist() == list(range(2 * len(names)))


def test_a_list_keeps_its_own_order(tmp_path: Path) -> None:
    log = written(tmp_path, ("part-10.parquet", "part-2.parquet"))
    files = [log / "part-10.parquet", log / "part-2.parquet"]
    assert ParquetSource(files, time="t").paths == files
    assert len(wb.read_parquet(files, time="t").collect()) == 4


def test_texts_in_folders_names_come_in_the_same_order(tmp_path: Path) -> None:
    log = written(tmp_path, ("host=h2/part-9.parquet", "host=h2/part-10.parquet", "host=h10/part-1.parquet"))
    assert wb.read_parquet(log, time="t").collect()["host"].to_pylist() == ["h2"] * 4 + ["h10"] * 2


@given(st.lists(st.integers(0, 10**6), unique=True), st.text("ab-_. ", max_size=3), st.text("ab-_. ", max_size=3))
def test_a_name_with_one_number_is_sorted_by_it(numbers: list[int], before: str, after: str) -> None:
    names = [f"{before}{number}{after}" for number in numbers]
    assert sorted(names, key=natural) == [f"{before}{number}{after}" for number in sorted(numbers)]


@given(st.lists(st.text("a01.-/", max_size=8), unique=True))
def test_different_paths_always_have_an_order(texts: list[str]) -> None:
    paths = {path for path in map(Path, texts) if path.name}
    assert len({natural_path(path) for path in paths}) == len(paths)
    assert sorted(paths, key=natural_path) == sorted(sorted(paths), key=natural_path)


def failure(path: object) -> WhimbrelError:
    with pytest.raises(DisorderError) as caught:
        wb.read_parquet(path, time="t").collect()  # type: ignore[arg-type]  # whatever a path may be
    assert len(str(caught.value).splitlines()) <= 8
    return caught.value


def test_an_error_says_in_which_file_a_late_row_lies_and_what_is_read_before(tmp_path: Path) -> None:
    error = failure(written(tmp_path, ("part-10.parquet", "part-2.parquet")))
    assert "Row 2 of" in error.what
    row = "(row 0 of 'part-10.parquet', read after 'part-2.parquet')"
    assert f"{row} is late, with a lateness of 3: 0 arrived after 3" in error.what
    assert error.hint.startswith("List the files in time order. ")


def test_files_of_one_name_are_distinguished(tmp_path: Path) -> None:
    error = failure(written(tmp_path, ("2/log.parquet", "1/log.parquet")))
    assert f"(row 0 of '{tmp_path / '2' / 'log.parquet'}', read after '{tmp_path / '1' / 'log.parquet'}')" in error.what


def test_a_row_within_a_file_is_counted_in_it_whatever_is_left_out(tmp_path: Path) -> None:
    for name, times in (("a", [0, 1, 2, 3]), ("b", [4, 5, 9, 7])):
        pq.write_table(pa.table({"t": times, "x": times}), tmp_path / f"{name}.parquet", row_group_size=1)
    assert "Row 7 of " in (what := failure(tmp_path).what)
    assert "(row 3 of 'b.parquet', read after 'a.parquet')" in what
    with pytest.raises(DisorderError, match=r"row 3 of 'b.parquet', read after 'a.parquet'"):
        wb.read_parquet(tmp_path, time="t").where(col.x >= 5).collect()


def test_of_one_file_nothing_is_said(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": [2, 1]}), tmp_path / "a.parquet")
    assert failure(tmp_path).what.endswith("is late, with a lateness of 1: 1 arrived after 2, with rows in time order.")


@pytest.mark.parametrize(("wrong", "what"), (
    ({"t": None, "until": 9}, " has no time: 't' is null."),
    ({"t": 8, "until": 8}, " must end after it starts, but 't' is 8 and 'until' is 8."),
    ({"t": 2**64 - 1, "until": 9}, " of 't', 18446744073709551615, is above the largest int64.")))
def test_every_error_about_a_row_says_in_which_file_it_lies(
        tmp_path: Path, wrong: dict[str, int | None], what: str) -> None:
    fine = [{"t": 1, "until": 5}, {"t": 2, "until": 5}]
    for name, held in (("part-10", [*fine, wrong]), ("part-9", fine)):
        pq.write_table(pa.Table.from_pylist(held, pa.schema({"t": pa.uint64(), "until": pa.uint64()})),
                       tmp_path / f"{name}.parquet", row_group_size=1)
    source = ParquetSource(tmp_path, time="t", end="until", reorder_latency=10)
    for read in (source.read([]), source.read([], 3), source.read(["until"])):
        with pytest.raises(SourceError) as caught:
            list(read)
        assert caught.value.what == f"Row 4 (row 2 of 'part-10.parquet', read after 'part-9.parquet'){what}"
        assert len(str(caught.value).splitlines()) <= 8


def test_a_replay_says_in_which_file_a_row_lies_that_came_too_early(tmp_path: Path) -> None:
    log = wb.read_parquet(written(tmp_path, ("part-10.parquet", "part-2.parquet")), time="t", arrival="t")
    said = r"^Row 2 \(row 0 of 'part-10.parquet', read after 'part-2.parquet'\) arrived"
    with pytest.raises(SourceError, match=said):
        wb.replay(log, speed=float("inf"), reorder_latency=0).collect()

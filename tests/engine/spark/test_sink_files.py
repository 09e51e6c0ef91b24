"""Which files hold the rows of an answer: what is noted of them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whimbrel.errors import SinkError
from whimbrel.spark.sink_files import SinkFiles


def written(folder: Path, number: int, rows: int) -> Path:
    """A file of a micro-batch, as Spark puts it."""
    file = folder / f"batch={number}" / "part.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": range(rows)}), file, write_page_checksum=True)  # as Spark does
    return file


def test_files_of_micro_batches_that_count_are_checked(tmp_path: Path) -> None:
    files = SinkFiles(tmp_path / "note", tmp_path / "answer")
    first, second = (written(tmp_path / "answer", number, 3) for number in range(2))
    files.add(0)
    files.add(1)
    second.unlink()
    files.check(0)  # Spark does the second one again
    with pytest.raises(SinkError, match=r"batch=1/part.parquet of 3 rows is gone"):
        files.check(1)
    written(tmp_path / "answer", 1, 5)
    with pytest.raises(SinkError, match=r"batch=1/part.parquet of 3 rows has 5 rows"):
        files.check(1)
    files.add(1)
    files.check(1)
    first.write_bytes(first.read_bytes()[:-9])
    with pytest.raises(SinkError, match=r"batch=0/part.parquet of 3 rows cannot be read"):
        files.check(1)


def test_a_file_with_other_bytes_is_refused_and_a_copy_is_not(tmp_path: Path) -> None:
    """A file of the right length, with the right footer, was accepted whatever its pages held."""
    files = SinkFiles(tmp_path / "note", tmp_path / "answer")
    file = written(tmp_path / "answer", 0, 1_000)
    files.add(0)
    whole = file.read_bytes()
    file.write_bytes(whole)
    files.check(0)
    file.write_bytes(whole[:200] + bytes([whole[200] ^ 0x55]) + whole[201:])
    with pytest.raises(SinkError, match=r"batch=0/part.parquet of 1,000 rows was changed"):
        files.check(0)


def test_a_note_of_an_earlier_version_has_no_times(tmp_path: Path) -> None:
    written(tmp_path / "answer", 0, 3)
    (tmp_path / "note").write_text('\n[0, {"batch=0/part.parquet": 3}, ""]', encoding="utf-8")
    SinkFiles(tmp_path / "note", tmp_path / "answer").check(0)


def test_a_note_that_was_torn_off_hides_none_after_it(tmp_path: Path) -> None:
    files = SinkFiles(tmp_path / "note", tmp_path / "answer")
    file = written(tmp_path / "answer", 0, 3)
    files.add(0)
    whole = (tmp_path / "note").read_text(encoding="utf-8")
    (tmp_path / "note").write_text(whole[:-4], encoding="utf-8")
    files.check(-1)
    files.add(0)
    file.unlink()
    with pytest.raises(SinkError, match="is gone"):
        files.check(0)


def test_an_answer_that_is_elsewhere_is_not_looked_at(tmp_path: Path) -> None:
    files = SinkFiles(tmp_path / "note", None)
    files.add(0)
    files.check(0)
    assert not (tmp_path / "note").exists()


def test_the_folder_of_a_table_is_known_after_its_first_rows(tmp_path: Path) -> None:
    asked: list[str] = []

    def folder() -> Path:
        asked.append("folder")
        return tmp_path / "answer"

    file = written(tmp_path / "answer", 0, 3)
    files = SinkFiles(tmp_path / "note", folder, "start_on_spark(table='t')")
    assert not asked
    files.add(0)
    written(tmp_path / "answer", 1, 2)
    files.add(1)
    assert len(asked) == 1
    file.unlink()

    def unknown() -> None:
        raise AssertionError("the catalog is gone")

    with pytest.raises(SinkError, match=r"batch=0/part.parquet of 3 rows is gone") as caught:
        SinkFiles(tmp_path / "note", unknown, "start_on_spark(table='t')").check(1)
    assert caught.value.where == "start_on_spark(table='t')"

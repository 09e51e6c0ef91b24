"""CSV, JSON lines and Arrow IPC files as sources: types, malformed lines, damage, and the laws of Parquet files."""

from __future__ import annotations

import csv as python_csv
import datetime as dt
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, ipc

import whimbrel as wb
from whimbrel import col
from whimbrel.errors import DisorderError, PlanError, SchemaError, SourceError
from whimbrel_workbench.sessions.run_status import status_of


def rows(log: wb.Stream, *columns: str) -> list[Any]:
    return log.select(*columns).collect().select(list(columns)).to_pylist()


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def table() -> pa.Table:
    at = np.datetime64("2024-03-01", "s") + np.arange(3000)
    return pa.table({"at": pa.array(at).cast(pa.timestamp("us")), "x": np.arange(3000), "y": np.arange(3000) / 8,
                     "k": [None if n % 7 == 0 else f"k{n % 5}" for n in range(3000)]})


def as_files(table: pa.Table, folder: Path, form: str, packed: str = "") -> Path:
    path = folder / f"log.{form}{packed}"
    match form:
        case "csv":
            codec = "brotli" if packed == ".br" else "detect"  # which Arrow does not know by its name
            with pa.output_stream(str(path), compression=codec) as out:
                csv.write_csv(table, out)
        case "jsonl":
            with pa.output_stream(str(path), compression="detect") as out:
                for row in table.to_pylist():
                    out.write((as_line(row) + "\n").encode())
        case "arrow":
            feather.write_feather(table, str(path), chunksize=700)
    return path


def as_line(row: dict[str, Any]) -> str:
    return json.dumps({name: value.isoformat(" ") if isinstance(value, dt.datetime) else value
                       for name, value in row.items()})


READ: dict[str, Callable[..., wb.Stream]] = {"csv": wb.read_csv, "jsonl": wb.read_json, "arrow": wb.read_ipc}


@pytest.mark.parametrize(("form", "packed"), [("csv", ""), ("csv", ".gz"), ("csv", ".zst"), ("csv", ".bz2"),
                                              ("csv", ".br"), ("jsonl", ""), ("jsonl", ".gz"), ("arrow", "")])
def test_answers_are_those_of_the_same_rows_in_memory(table: pa.Table, tmp_path: Path, form: str, packed: str) -> None:
    log = READ[form](as_files(table, tmp_path, form, packed), time="at")
    query = log.where(col.x > 10).group_by("k").tumbling_window("10m").aggregate(n=wb.count(), y=wb.sum(col.y))
    assert log.schema.unit == "us"
    assert query.collect().to_pylist() == query.on(wb.from_arrow(table, time="at", name="log")).collect().to_pylist()
    with log.start() as run:
        assert run.wait(20)
        assert run.snapshot().table.num_rows == 3000
    replayed = wb.replay(log, speed=float("inf"))
    assert replayed.collect().num_rows == 3000


def test_a_source_resumes_at_a_row(table: pa.Table, tmp_path: Path) -> None:
    source = wb.read_csv(as_files(table, tmp_path, "csv"), time="at").node.op
    found = [value for batch in source.read(["x"], offset=2990) for value in batch.column("x").values.tolist()]
    assert found == list(range(2990, 3000))


LINES = ["at,x,k", "1,10,a", "2,ten,b", "3,30", "4,40,d,more", "5,,", '6,"60",f', "", "7,70,g", '8,"80', "9,90,ä"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_that_are_no_rows_are_dead_letters(tmp_path: Path, end: str) -> None:
    log = wb.read_csv(written(tmp_path / "log.csv", end.join(LINES)), time="at", schema={"x": "int64"})
    assert rows(log, "at", "x", "k") == [
        {"at": 1, "x": 10, "k": "a"}, {"at": 5, "x": None, "k": None}, {"at": 6, "x": 60, "k": "f"},
        {"at": 7, "x": 70, "k": "g"}, {"at": 9, "x": 90, "k": "ä"}]
    letters = wb.dead_letters(log).collect()
    assert letters["line"].to_pylist() == [3, 4, 5, 10]
    assert letters["message"].to_pylist() == [b"2,ten,b", b"3,30", b"4,40,d,more", b'8,"80']
    assert letters["reason"].to_pylist()[1:3] == ["2 values for 3 columns", "4 values for 3 columns"]
    assert log.node.op.malformed.total() == 4


def test_metrics_count_dead_letters_by_source_and_reason(tmp_path: Path) -> None:
    text, reason = "at,x\n1,1\n2,two\n3,3,3\n4\n5,five\n", "3 values for 2 columns"
    log = wb.read_csv(written(tmp_path / "log.csv", text), time="at", schema={"x": "int64"})
    (tmp_path / "no").mkdir()
    clean = wb.read_csv(written(tmp_path / "no" / "clean.csv", "at,x\n1,1\n"), time="at", schema={"x": "int64"})
    feed = wb.feeds.iterator(lambda: [{"at": 1, "x": 1}, {"at": "soon", "x": 2}], time="at", name="log",
                             schema={"at": "int64", "x": "int64"})
    with log.where(col.x > 0).union(clean).union(feed).start() as run:
        assert run.wait(20)
        found = run.metrics.dead_letters
        assert {name: sum(each.values()) for name, each in found.items()} == {"log": 4, "log (2)": 1}
        assert found["log"][reason] == 1
    assert dict(status_of("finished", run.metrics, None).facts)["dead letters"].startswith("5: ")


def test_names_that_come_late_in_json_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Types are those of the first MiB."""
    file = tmp_path / "log.jsonl"
    early = '{"at": 1, "v": [{"a": 1}], "pad": "%s"}\n' % ("x" * 100_000)
    for late, name in (('{"at": 2, "alarm": 1}', "'alarm'"), ('{"at": 2, "v": [{"a": 1, "b": 2}]}', "'v.b'")):
        file.write_text(early * 12 + late + "\n" + late)
        caplog.clear()
        log = wb.read_json(file, time="at")
        assert log.collect().num_rows == 14
        said, = (record.getMessage() for record in caplog.records if record.name == "whimbrel.files")
        assert said.startswith(f"log.jsonl: names that its first rows lack are left out, such as {name};")
    caplog.clear()
    assert wb.read_json(file, time="at", columns=["at"]).collect().num_rows == 14
    assert not caplog.records


def test_objects_without_names_are_rows_of_json(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"at": 1, "v": {}}\n{"at": 2, "v": null}\n{"at": 3}\n')
    assert wb.read_json(tmp_path / "log.jsonl", time="at").collect()["v"].to_pylist() == [{}, None, None]


def test_a_long_value_of_csv_is_a_value(tmp_path: Path) -> None:
    """Arrow parses blocks, and none is as long as the value."""
    file = written(tmp_path / "log.csv", "at,s\n1,a\n2," + "x" * 3_000_000 + "\n3\n4,b\n")
    log = wb.read_csv(file, time="at")
    assert [len(text) for text in log.collect()["s"].to_pylist()] == [1, 3_000_000, 1]
    assert wb.dead_letters(log).collect()["line"].to_pylist() == [4]


@pytest.mark.parametrize(("lines", "says"), [
    ("2,two\n", "1 malformed lines were left out: 'x' must be int64 (1)"),
    ("2,two\n3\n4,5,6\n5,x\n6\n7\n?,1\n", ("7 malformed lines were left out: 1 values for 2 columns (3), "
                                             "'x' must be int64 (2), 3 values for 2 columns (1), other reasons (1)")),
])
def test_left_out_lines_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture, lines: str, says: str) -> None:
    types = {"at": "int64", "x": "int64"}
    wb.read_csv(written(tmp_path / "log.csv", f"at,x\n1,1\n{lines}"), time="at", schema=types).collect()
    said, = (record.getMessage() for record in caplog.records if record.name == "whimbrel.files")
    assert said == f"log: {says}; wb.dead_letters(log) shows them."


def test_what_is_malformed_does_not_depend_on_the_columns_of_a_query(tmp_path: Path) -> None:
    file = written(tmp_path / "log.csv", "at,x\n1,1\n2,two\n")
    assert rows(wb.read_csv(file, time="at", schema={"x": "int64"}), "at") == [{"at": 1}]
    assert rows(wb.read_csv(file, time="at", columns=["at"]), "at") == [{"at": 1}, {"at": 2}]


def test_many_dirty_lines_in_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    dirty = rng.random(60_000) < 0.02
    lines = [f"{n},{'?' if bad else n / 4},k{n % 3}" for n, bad in enumerate(dirty)]
    file = written(tmp_path / "log.csv.gz", gzip.compress("\n".join(["at,x,k", *lines]).encode()))
    monkeypatch.setattr("whimbrel.connect.file_formats.text_blocks._BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr("whimbrel.connect.file_formats.text_blocks.FIRST_BYTES", 1 << 12)
    log = wb.read_csv(file, time="at", schema={"x": "double"})
    found = log.collect()
    assert found["at"].to_pylist() == np.flatnonzero(~dirty).tolist()
    assert found["x"].to_pylist() == (np.flatnonzero(~dirty) / 4).tolist()
    assert (np.array(wb.dead_letters(log).collect()["line"]) - 2).tolist() == np.flatnonzero(dirty).tolist()


def test_malformed_json_lines(tmp_path: Path) -> None:
    text = '{"at": 1, "x": 1}\n{"at": 2, "x": \n[3]\n{"at": 4, "x": "four"}\n{"at": 5, "x": 5, "new": 1}\n'
    log = wb.read_json(written(tmp_path / "log.jsonl", text), time="at", schema={"x": "int64"})
    assert rows(log, "at", "x") == [{"at": 1, "x": 1}, {"at": 5, "x": 5}]
    assert wb.dead_letters(log).collect()["line"].to_pylist() == [2, 3, 4]


def test_columns_of_files_are_unified(tmp_path: Path) -> None:
    written(tmp_path / "part-2.csv", "at,x\n1,1\n2,2\n")
    written(tmp_path / "part-10.csv", "at,x,k\n3,1.5,a\n")
    log = wb.read_csv(tmp_path, time="at")
    assert log.schema.show() == "at: int64, x: double, k: string"
    assert rows(log, "x", "k") == [{"x": 1.0, "k": None}, {"x": 2.0, "k": None}, {"x": 1.5, "k": "a"}]


def test_integers_that_floats_do_not_hold_are_an_error(tmp_path: Path) -> None:
    for name, values in (("a", [2**53 + 1]), ("b", [0.5])):
        feather.write_feather(pa.table({"at": [1 if name == "a" else 2], "x": values}), str(tmp_path / f"{name}.arrow"))
    with pytest.raises(SourceError, match=r"a\.arrow"):
        wb.read_ipc(tmp_path, time="at").collect()


def test_types_without_a_common_one_name_both_files(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl", '{"at": 1, "x": 1}\n')
    written(tmp_path / "b.jsonl", '{"at": 2, "x": "b"}\n')
    with pytest.raises(SchemaError, match=re.escape("'x' is int64 in 'a.jsonl' and string in 'b.jsonl'")):
        wb.read_json(tmp_path, time="at")


def test_times_of_csv_files_without_a_common_type_name_both_files(tmp_path: Path) -> None:
    for name, at in (("a", "1"), ("b", "2024-05-01T00:00:00")):
        written(tmp_path / f"{name}.csv", f"at,x\n{at},{at}\n")
    with pytest.raises(SchemaError, match=re.escape("'at' is int64 in 'a.csv' and timestamp[us] in 'b.csv'")):
        wb.read_csv(tmp_path, time="at")


def test_a_decimal_that_does_not_fit_is_named(tmp_path: Path) -> None:
    log = wb.read_csv(written(tmp_path / "a.csv", "at,x\n1,?\n2,1.5\n3,12345\n"), time="at",
                      schema={"x": "decimal(3, 2)"})
    assert wb.dead_letters(log).collect()["reason"].to_pylist() == ["'x' must be decimal128(3, 2)"] * 2


def test_folders_name_columns_and_prune(tmp_path: Path) -> None:
    for day in (1, 2, 10):
        (tmp_path / f"day={day}").mkdir()
        written(tmp_path / f"day={day}" / "part.csv", f"at,x\n{day},{day}\n")
    log = wb.read_csv(tmp_path, time="at", name="log").where(col.day >= 2)
    assert rows(log, "x", "day") == [{"x": 2, "day": 2}, {"x": 10, "day": 10}]
    assert "2 of 3 files" in log.explain()


def test_streams_of_record_batches_and_no_header(tmp_path: Path) -> None:
    batch = pa.record_batch({"at": [1, 2], "x": [1, 2]})
    with ipc.new_stream(tmp_path / "log.arrows", batch.schema) as out:
        out.write_batch(batch)
    assert rows(wb.read_ipc(tmp_path / "log.arrows", time="at"), "x") == [{"x": 1}, {"x": 2}]
    bare = written(tmp_path / "bare.csv", "1;a\n2;\n")
    assert rows(wb.read_csv(bare, time="at", column_names=["at", "k"], delimiter=";"), "k") == [{"k": "a"}, {"k": None}]


def test_disorder_and_partitions_as_with_parquet(tmp_path: Path) -> None:
    file = written(tmp_path / "log.csv", "at,k\n5,a\n1,b\n6,a\n2,b\n")
    with pytest.raises(DisorderError):
        wb.read_csv(file, time="at").collect()
    assert rows(wb.read_csv(file, time="at", reorder_latency=5), "at") == [{"at": at} for at in (1, 2, 5, 6)]
    assert rows(wb.read_csv(file, time="at", partition="k"), "at") == [{"at": at} for at in (1, 2, 5, 6)]


@pytest.mark.parametrize("packed", ["gz", "zst", "bz2"])
def test_a_truncated_file_is_named(tmp_path: Path, packed: str) -> None:
    path = tmp_path / f"log.csv.{packed}"
    with pa.output_stream(str(path), compression="detect") as out:
        out.write(b"at,x\n" + b"".join(b"%d,%d\n" % (n, n * 7919 % 10_007) for n in range(400_000)))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(SourceError, match="ends in the middle of its compressed data"):
        wb.read_csv(path, time="at").collect()


def test_a_file_that_changes_is_named(tmp_path: Path) -> None:
    file = written(tmp_path / "log.csv", "at,x\n" + "".join(f"{n},{n}\n" for n in range(400_000)))
    log = wb.read_csv(file, time="at")
    batches = log.batches()
    next(batches)
    with file.open("a") as out:
        out.write("400000,1\n")
    with pytest.raises(SourceError, match="changed after it was opened"):
        list(batches)


@pytest.mark.parametrize(("make", "error", "says"), [
    (lambda folder: wb.read_csv(folder / "no.csv", time="at"), SourceError, "There is no file"),
    (lambda folder: wb.read_csv(written(folder / "a.csv", ""), time="at"), SourceError, "is empty"),
    (lambda folder: wb.read_csv(written(folder / "a.csv", "at,at\n1,2\n"), time="at"), SourceError, "'at' twice"),
    (lambda folder: wb.read_csv(written(folder / "a.csv", "at,x\n1,2\n"), time="when"), SchemaError, "when"),
    (lambda folder: wb.read_csv(written(folder / "a.csv", "at,x\n1,2\n"), time="at", schema={"y": "int64"}),
     SchemaError, "'y', which no file"),
    (lambda folder: wb.read_csv(folder, time="at", schema={"n": int, "y": "decimall(3)"}), SchemaError,
     r"^schema has an unknown type for 'y': 'decimall\(3\)'\."),
    (lambda folder: wb.read_csv(written(folder / "a.csv", "at,x\n1,2\n"), time="at", columns=["at", "z"]),
     SchemaError, "'z', which no file"),
    (lambda folder: wb.read_csv(folder, time="at", delimiter=";;"), PlanError, "delimiter must be one character"),
    (lambda folder: wb.read_csv(folder, time="at", decimal="'"), PlanError, "decimal must be"),
    (lambda folder: wb.read_json(written(folder / "a.jsonl", "no\n"), time="at"), SourceError, "no JSON object"),
    (lambda folder: wb.read_ipc(written(folder / "a.arrow", "at,x"), time="at"), SourceError,
     "cannot be read as Arrow IPC"),
    (lambda _: wb.dead_letters(wb.from_arrow({"at": [1]}, time="at")), PlanError, "needs a stream of read_csv"),
])
def test_errors_say_what_and_where(tmp_path: Path, make: Callable[[Path], wb.Stream], error: type[Exception],
                                   says: str) -> None:
    with pytest.raises(error, match=says) as raised:
        make(tmp_path)
    assert isinstance(raised.value, wb.WhimbrelError)
    assert raised.value.where
    assert raised.value.hint


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    with file.open("wb") as out:
        out.write(b"at,text\n")
        for n in range(60):
            out.write(b"".join(b"%d,%0200d\n" % (n * 5000 + m, m) for m in range(5000)))
    log = wb.read_csv(file, time="at")
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    most = max(pool.bytes_allocated() - before for _ in log.batches())
    assert most < file.stat().st_size * 1.5


def test_times_in_another_format_and_zone(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "at,x\n31.03.2024 01:30:00,1\n31.03.2024 02:30:00,2\nnever,3\n"
                                       "2024-04-01 00:00:00,4\n27.10.2024 02:30:00,5\n,6\n01.07.2050 12:00:00,7\n")
    found = wb.read_csv(file, time="at", time_format="%d.%m.%Y %H:%M:%S", timezone="Europe/Berlin",
                        schema={"at": "timestamp[us]"})
    assert [at.astimezone(dt.UTC).isoformat() for at in found.collect()["at"].to_pylist()] == [
        "2024-03-31T00:30:00+00:00", "2024-03-31T01:30:00+00:00", "2024-03-31T22:00:00+00:00",
        "2024-10-27T01:30:00+00:00", "2050-07-01T10:00:00+00:00"]
    local = wb.read_csv(file, time="x", time_format="%d.%m.%Y %H:%M:%S", schema={"at": "timestamp[us]"})
    shown = local.where(col.at.is_not_null()).select(at=col.at.dt.at_time_zone("Europe/Berlin")).collect()
    assert shown["at"] == found.collect()["at"]
    assert [letter["line"] for letter in wb.dead_letters(found).collect().to_pylist()] == [4, 7]


def test_days_that_a_month_lacks_and_short_years_are_malformed(tmp_path: Path) -> None:
    wrong = ["05.02.24", "03.02.24", "30.02.2024", "31.04.2024", "6.5. 956", "2024-02-30"]
    right = ["05.02.0024", "7.5.2024", "2024-05-08", "01.06.2024"]
    file = written(tmp_path / "a.csv", "".join(f"{each}\n" for each in ["at", *wrong, *right]))
    log = wb.read_csv(file, time="at", time_format="%d.%m.%Y")
    assert [str(at)[:10] for at in log.collect()["at"].to_pylist()] == [
        "0024-02-05", "2024-05-07", "2024-05-08", "2024-06-01"]
    letters = wb.dead_letters(log).collect().to_pylist()
    assert [each["message"].decode() for each in letters] == wrong
    assert {each["reason"] for each in letters} == {"'at' must be timestamp[us]"}


def test_times_of_a_zone_are_inferred_and_options_are_checked(tmp_path: Path) -> None:
    file = written(tmp_path / "a.csv", "at,x\n05/01/24 10:00,1\n05/02/24 00:00,2\n")
    log = wb.read_csv(file, time="at", time_format="%m/%d/%y %H:%M", timezone="America/New_York")
    assert log.node.op.schema.type_of("at") == pa.timestamp("us", "America/New_York")
    assert log.collect()["at"].cast(pa.int64()).to_pylist() == [1714572000000000, 1714622400000000]
    with pytest.raises(PlanError, match="timezone must be the name of a zone, got 'Mars'"):
        wb.read_csv(file, time="at", timezone="Mars")
    with pytest.raises(PlanError, match="time_format must be a format of strptime, got 'day'"):
        wb.read_csv(file, time="at", time_format="day")


BREAKS = ["", "a\nb", "\n", '"', 'x "y" z', "a,b", "end\n", "\nbegin", 'quote"\n"', "a\r\nb", "plain",
          '5" pipe', "ü\n\n\nx"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("block_bytes", [*range(1, 40, 3), 997, 1 << 20])
def test_values_in_quotes_may_have_line_ends_wherever_blocks_are_cut(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, block_bytes: int) -> None:
    rng = np.random.default_rng(block_bytes)
    wanted = [(at, BREAKS[rng.integers(len(BREAKS))], at / 4, BREAKS[rng.integers(len(BREAKS))]) for at in range(120)]
    with (tmp_path / "log.csv").open("w", newline="", encoding="utf-8") as out:
        writer = python_csv.writer(out, lineterminator=end)
        writer.writerows([("at", "k", "x", "m"), *wanted])
    monkeypatch.setattr("whimbrel.connect.file_formats.text_blocks._BLOCK_BYTES", block_bytes)
    log = wb.read_csv(tmp_path / "log.csv", time="at")
    found = log.select("at", "k", "x", "m").collect()
    assert [tuple(row.values())[2:] for row in found.to_pylist()] == [
        (at, k or None, x, m or None) for at, k, x, m in wanted]
    assert wb.dead_letters(log).collect().num_rows == 0


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 5, 8, 13, 21, 34, 1 << 20])
def test_a_stray_quote_costs_its_own_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    monkeypatch.setattr("whimbrel.connect.file_formats.text_blocks._BLOCK_BYTES", block_bytes)
    text = ('at,x,k\n1,1,"a\nb"\n2,2,"open\n3,3,c\n4,4,"d"\n5,five,"e\nf"\n6,6,g,"h\ni"\n7,7,"j\nk"\n'
            '8,8,5" pipe\n9,9,"l""\n10,10,m\n')
    log = wb.read_csv(written(tmp_path / "log.csv", text), time="at", schema={"x": "int64"})
    assert rows(log, "at", "k") == [
        {"at": 1, "k": "a\nb"}, {"at": 3, "k": "c"}, {"at": 4, "k": "d"}, {"at": 7, "k": "j\nk"},
        {"at": 8, "k": '5" pipe'}, {"at": 10, "k": "m"}]
    letters = wb.dead_letters(log).collect()
    assert list(zip(letters["line"].to_pylist(), letters["message"].to_pylist(), strict=True)) == [
        (4, b'2,2,"open'), (7, b'5,five,"e\nf"'), (9, b'6,6,g,"h'), (10, b'i"'), (14, b'9,9,"l""')]


def test_an_open_quote_takes_in_only_so_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.connect.file_formats.csv_records.MAX_RECORD_BYTES", 50)
    text = "at,k\n1,\"" + "x\n" * 22 + '"\n2,"' + "y\n" * 24 + '"\n3,c\n'
    for block_bytes in (7, 30, 1 << 20):
        monkeypatch.setattr("whimbrel.connect.file_formats.text_blocks._BLOCK_BYTES", block_bytes)
        log = wb.read_csv(written(tmp_path / "log.csv", text), time="at", schema={"k": "string"})
        assert rows(log, "at", "k") == [{"at": 1, "k": "x\n" * 22}, {"at": 3, "k": "c"}]
        assert wb.dead_letters(log).collect()["line"].to_pylist() == [*range(25, 50)]


@pytest.mark.parametrize(("read", "text"), [
    (wb.read_csv, "x,at\n1,1\n2,\n,3\n4,\nfive,4\n6,6\n"),
    (wb.read_json, ('\n{"x": 1, "at": 1}\n{"x": 2}\n{"at": 3}\n{"x": 4, "at": null}\n{"x": "5", "at": 4}\n'
                    '{"x": 6, "at": 6}')),
])
@pytest.mark.parametrize("late", [None, "drop"])
def test_rows_without_a_time_are_dead_letters(tmp_path: Path, read: Callable[..., wb.Stream], text: str,
                                              late: str | None) -> None:
    log = read(written(tmp_path / "log", text), time="at", schema={"x": "int64"}, late=late)
    assert rows(log, "at", "x") == [{"at": 1, "x": 1}, {"at": 3, "x": None}, {"at": 6, "x": 6}]
    assert log.node.op.malformed["no time: 'at' is null"] == 2
    letters = wb.dead_letters(log).collect()
    assert letters["line"].to_pylist() == [3, 5, 6]
    assert letters["message"].to_pylist() == [text.encode().splitlines()[line - 1] for line in (3, 5, 6)]


@pytest.mark.parametrize(("read", "text"), [
    (wb.read_csv, "at,until\n1,5\n7,7\n9,\nx,5\n9,3\n,9\n10,12\n"),
    (wb.read_csv, "at,until\n1,5\n7,7\n9,\n9,9\n9,3\n,9\n10,12\n"),
    (wb.read_json, ('{"at": 1, "until": 5}\n{"at": 7, "until": 7}\n{"at": 9}\n{"at": "x"}\n{"at": 9, "until": 3}\n'
                    '{"until": 9}\n{"at": 10, "until": 12}\n')),
])
def test_rows_that_do_not_end_after_they_start_are_dead_letters(
        tmp_path: Path, read: Callable[..., wb.Stream], text: str) -> None:
    log = read(written(tmp_path / "log", text), time="at", end="until")
    lifetimes = log.collect().select(["start", "end"]).to_pylist()
    assert lifetimes == [{"start": 1, "end": 5}, {"start": 9, "end": None}, {"start": 10, "end": 12}]
    assert rows(log.select(col.at), "at") == [{"at": 1}, {"at": 9}, {"at": 10}]
    letters = wb.dead_letters(log).collect()
    assert letters["line"].to_pylist() == ([2, 4, 5, 6] if read is wb.read_json else [3, 5, 6, 7])
    reasons = letters["reason"].to_pylist()
    assert reasons[0] == reasons[2] == "does not end after it starts"
    assert reasons[3] == "no time: 'at' is null"
    assert letters["message"][2].as_py() in (b"9,3", b'{"at": 9, "until": 3}')


def test_days_and_times_of_other_units_end_after_they_start(tmp_path: Path) -> None:
    text = "at,until\n2024-01-02,2024-01-02 00:00:00.000\n2024-01-02,2024-01-02 00:00:00.001\n"
    log = wb.read_csv(written(tmp_path / "log.csv", text), time="at", end="until",
                      schema={"at": "timestamp[ms]", "until": "timestamp[us]"})
    assert log.collect().num_rows == 1
    assert wb.dead_letters(log).collect()["line"].to_pylist() == [2]


def test_empty_lines_of_one_column_and_files_without_times(tmp_path: Path) -> None:
    log = wb.read_csv(written(tmp_path / "a.csv", "at\n1\n\n2\n"), time="at")
    assert rows(log, "at") == [{"at": 1}, {"at": 2}]
    assert wb.dead_letters(log).collect().num_rows == 0
    with pytest.raises(SchemaError, match=r"b\.csv' has no column 'at'"):
        wb.read_csv([tmp_path / "a.csv", written(tmp_path / "b.csv", "x\n1\n")], time="at")
    written(tmp_path / "a.jsonl", '{"at": 1}\n')
    written(tmp_path / "b.jsonl", '{"x": 1}\n{"at": 2, "x": 2}\n')
    log = wb.read_json(tmp_path, time="at")
    assert rows(log, "at", "x") == [{"at": 1, "x": None}, {"at": 2, "x": 2}]
    assert [letter["line"] for letter in wb.dead_letters(log).collect().to_pylist()] == [1]


def test_the_time_may_be_in_the_names_of_folders(tmp_path: Path) -> None:
    for day in (1, 2):
        (tmp_path / f"day={day}").mkdir()
        written(tmp_path / f"day={day}" / "part.csv", f"x,k\n{day},\n")
    assert rows(wb.read_csv(tmp_path, time="day"), "day", "x") == [{"day": 1, "x": 1}, {"day": 2, "x": 2}]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_column_that_is_empty_in_a_file_has_the_type_of_the_others(tmp_path: Path, first: int) -> None:
    texts = ["at,x,y\n1,1,\n", "at,x,y\n", "at,x,y\n2,,\n"]
    for number, text in enumerate(texts[first:] + texts[:first]):
        written(tmp_path / f"{number}.csv", text)
    log = wb.read_csv(tmp_path, time="at", reorder_latency=2)
    assert log.schema.show() == "at: int64, x: int64, y: string"
    assert rows(log, "x", "y") == [{"x": 1, "y": None}, {"x": None, "y": None}]
    written(tmp_path / "3.csv", "at,x,y\n3,a,5\n")
    assert wb.read_csv(tmp_path, time="at").schema.show() == "at: int64, x: string, y: int64"


def test_a_key_that_is_null_in_a_file_has_the_type_of_the_others(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl", '{"at": 1, "x": null, "y": null, "z": [null]}\n')
    written(tmp_path / "b.jsonl", '{"at": 2, "x": 2, "y": null, "z": [1.5]}\n')
    log = wb.read_json(tmp_path, time="at")
    assert log.schema.show() == "at: int64, x: int64, y: string, z: list<item: double>"
    assert rows(log, "x", "y", "z") == [{"x": None, "y": None, "z": [None]}, {"x": 2, "y": None, "z": [1.5]}]
    written(tmp_path / "c.jsonl", '{"at": 3, "x": "c"}\n')
    with pytest.raises(SchemaError, match=re.escape("'x' is int64 in 'b.jsonl' and string in 'c.jsonl'")):
        wb.read_json(tmp_path, time="at")


def test_tsv_files_have_tabs_and_endings_may_have_capitals(tmp_path: Path) -> None:
    (tmp_path / "a.TSV.GZ").write_bytes(gzip.compress(b"at\tk\n1\ta,b\n"))
    written(tmp_path / "b.CSV", "at,k\n2,c\td\n")
    log = wb.read_csv(tmp_path, time="at")
    assert rows(log, "at", "k") == [{"at": 1, "k": "a,b"}, {"at": 2, "k": "c\td"}]
    commas = written(tmp_path / "c.tsv", "at,k\n3,e\tf\n")
    assert rows(wb.read_csv(commas, time="at", delimiter=","), "k") == [{"k": "e\tf"}]

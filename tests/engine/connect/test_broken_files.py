"""Files that are empty, cut, damaged or of another format: what, where and hint in our words."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

import whimbrel as wb

TABLE = pa.table({"at": range(2000), "x": [str(n * 7919 % 10_007) for n in range(2000)]})
TWICE = pa.Table.from_arrays([pa.array([1])] * 3, ["at", "x", "x"])
CSV = b"at,x\n" + b"".join(b"%d,%d\n" % (n, n * 7919 % 10_007) for n in range(2000))
JSON = b"".join(b'{"at":%d}\n' % n for n in range(2000))


def parquet(table: pa.Table = TABLE) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def arrow(new: Callable[..., ipc.RecordBatchStreamWriter], table: pa.Table = TABLE) -> bytes:
    out = io.BytesIO()
    with new(out, table.schema) as writer:
        writer.write_table(table, 500)
    return out.getvalue()


PARQUET, IPC, STREAM = parquet(), arrow(ipc.new_file), arrow(ipc.new_stream)
READ: dict[str, Callable[..., wb.Stream]] = {"csv": wb.read_csv, "json": wb.read_json, "parquet": wb.read_parquet,
                                             "arrow": wb.read_ipc}


@pytest.mark.parametrize(("name", "data", "what", "hint"), [
    *((f"a.{form}", b"", "is empty (0 bytes)", "again") for form in READ),
    *((f"a.{form}", None, "There is no", "There are no files") for form in READ),
    ("a.csv", b"\n \n", "it has no header line", "complete"), ("a.json", b"\n \n", "it has no JSON object", "complete"),
    ("a.csv", b"\0" * 900, "all of its first bytes are 0", "complete"), ("a.json", b"\0" * 900, "are 0", "complete"),
    ("a.csv", b"at,x\n", "type of 'at' is not known: 'a.csv' has a header line and no rows", 'or "int64" if'),
    ("a.csv", b"at,x\n1,2,3\n4,5,6\n", "is not known: the rows of 'a.csv' have 3 values for 2 columns", "delimiter"),
    ("a.csv", b"at;x\n1;2\n", "its header line is one column, 'at;x'", "Use delimiter=';'"),
    ("a.csv", b"at,x,x\n1,2,3\n", "its header names the column 'x' twice", "complete"),
    ("a.csv", b"at,x\r1,2\r", "its lines end with CR alone", "LF"),
    ("a.csv.gz", gzip.compress(CSV)[:-500], "ends in the middle of its compressed data", "a part of it is missing"),
    ("a.json.gz", gzip.compress(JSON)[:6], "ends in the middle of its compressed data", "a part of it is missing"),
    ("a.csv.gz", CSV, "damaged, or not that of gzip", "rename"),
    ("a.csv.zst", CSV, "damaged, or not that of zstd", "rename"),
    ("a.csv", gzip.compress(CSV), "it is compressed with gzip", "end with .gz"),
    ("a.csv", PARQUET, "it is a Parquet file", "wb.read_parquet()"),
    ("a.json", IPC, "it is an Arrow IPC file", "wb.read_ipc()"),
    ("a.json", b'[{"at":1},{"at":2}]', "it is an array", "jq -c"),
    ("a.json", b'[\n {"at":1},\n {"at":2}\n]\n', "it is an array", "jq -c"),
    ("a.json", b'{\n "at":1\n}\n', "it has no JSON object that is a line", "complete"),
    ("a.parquet", PARQUET[:-500], "its end is missing", "a part of it is missing"),
    ("a.parquet", CSV, "it does not begin as Parquet files do", "has the Parquet format"),
    ("a.parquet", PARQUET[:200] + b"\xff" * 2000 + PARQUET[2200:], "its data is damaged", "again"),
    ("a.parquet", b"PAR1" + CSV + b"PAR1", "its data is damaged", "again"),
    ("a.parquet", parquet(TWICE), "Column 'x' is in 'a.parquet' twice", "a name for each column"),
    ("a.arrow", IPC[: len(IPC) // 2], "its end is missing", "a part of it is missing"),
    ("a.arrow", STREAM[: len(STREAM) // 2], "its end is missing", "a part of it is missing"),
    ("a.arrow", STREAM[:60], "its end is missing", "a part of it is missing"),
    ("a.arrow", CSV, "it does not begin as Arrow IPC files do", "has the Arrow IPC format"),
    ("a.arrow", arrow(ipc.new_file, TWICE), "Column 'x' is in 'a.arrow' twice", "a name for each column"),
])
def test_a_broken_file_says_what_where_and_a_hint(tmp_path: Path, name: str, data: bytes | None, what: str,
                                                  hint: str) -> None:
    path = tmp_path / name
    if data is None:
        path.mkdir()
    else:
        path.write_bytes(data)
    read = READ[name.split(".")[1]]
    with pytest.raises(wb.WhimbrelError) as raised:
        read(path, time="at").collect()
    assert what in raised.value.what
    assert hint in raised.value.hint
    assert raised.value.where == f"{read.__name__}({str(path)!r}, time='at')"
    assert raised.value.what.endswith(".")
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(("name", "data", "dirty"), [
    ("a.csv", b"at,x\n1,2\n2,3,4\n3,4\n", [3]), ("a.csv", b"\xef\xbb\xbfat,x\n1,2\n3,4\n", []),
    ("a.csv", b"at,x\n1,2\n\0\0\0\n3,4\n", [3]),
    ("a.json", b'\xef\xbb\xbf{"at":1}\n{"at":3}', []), ("a.json", b'{"at":1}\n{"at":\0}\n{"at":3}\n\0\0', [2, 4]),
    ("a.json", b'[WARN] begin\n{"at":1}\n[3]\n{"at":3}\n', [1, 3]),
    ("a.json", b'[{"at":2}]\n{"at":1}\n{"at":3}\n', [1]),
])
def test_a_broken_line_is_a_dead_letter(tmp_path: Path, name: str, data: bytes, dirty: list[int]) -> None:
    (tmp_path / name).write_bytes(data)
    log = READ[name.split(".")[1]](tmp_path / name, time="at")
    assert log.collect()["at"].to_pylist() == [1, 3]
    assert wb.dead_letters(log).collect()["line"].to_pylist() == dirty

"""Files of Google Cloud Storage, on a server that emulates it, and keys of accounts of Azure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import whimbrel as wb
from tests.engine.connect.feeds.servers import free_port
from tests.engine.connect.server_process import server_process
from whimbrel import col
from whimbrel.connect.files.remote_files import file_system
from whimbrel.errors import SourceError

TABLE = pa.table({"at": range(1000), "x": range(0, 2000, 2)})


@pytest.fixture(scope="module")
def options() -> Iterator[str]:
    """The end of addresses of a server, on which a bucket has files."""
    port = free_port()
    with server_process(["-m", "gcp_storage_emulator", "start", "--host=127.0.0.1", f"--port={port}", "--in-memory"],
                        port):
        bucket = fs.GcsFileSystem(anonymous=True, scheme="http", endpoint_override=f"127.0.0.1:{port}",
                                  project_id="logs", retry_time_limit=dt.timedelta(seconds=20))
        bucket.create_dir("logs")
        for part in range(4):
            name = f"logs/hive/day=2024-01-0{part + 1}/part-{part}.parquet"
            with bucket.open_output_stream(name) as file:
                pq.write_table(TABLE.slice(part * 250, 250), file, row_group_size=50)
        with bucket.open_output_stream("logs/csv/b.csv.gz") as file:
            file.write(b"at,x\n" + b"".join(b"%d,%d\n" % (at, at * 2) for at in range(1000)))
        yield f"?scheme=http&endpoint_override=127.0.0.1:{port}&retry_limit_seconds=5"


@pytest.mark.parametrize("path", ["logs/hive", "logs/hive/*/part-*.parquet", "logs/csv/b.csv.gz"])
def test_files_of_a_bucket_give_the_rows_of_local_files(options: str, path: str) -> None:
    read = wb.read_csv if "csv" in path else wb.read_parquet
    log = read(f"gs://anonymous@{path}{options}", time="at")
    assert log.select("x").collect()["x"].to_pylist() == TABLE["x"].to_pylist()
    assert log.where(col.at >= 950).collect().num_rows == 50


@pytest.mark.parametrize("path", ["logs/csv/none.csv", "none/b.csv"])
def test_missing_files_and_buckets(options: str, path: str) -> None:
    with pytest.raises(SourceError, match=f"There is no file 'gs://{path}'"):
        wb.read_csv(f"gs://anonymous@{path}{options}", time="at")


@pytest.mark.parametrize(("bucket", "environment", "key"), [
    (":a2V5@account.blob.core.windows.net", {}, "a2V5"), (":a2%2F5@account.blob.core.windows.net", {}, "a2/5"),
    ("box@account.dfs.core.windows.net", {"KEY": "b3J0"}, "b3J0"),
    ("box@account.dfs.core.windows.net", {"KEY": "b3J0", "NAME": "other"}, ""),
    ("box@account.dfs.core.windows.net", {}, "")])
def test_keys_of_accounts_are_those_of_the_address_or_of_the_environment(
        monkeypatch: pytest.MonkeyPatch, bucket: str, environment: dict[str, str], key: str) -> None:
    for name in ("KEY", "NAME"):
        monkeypatch.delenv(f"AZURE_STORAGE_ACCOUNT_{name}", raising=False)
        if name in environment:
            monkeypatch.setenv(f"AZURE_STORAGE_ACCOUNT_{name}", environment[name])
    system, path = file_system("abfss", bucket, "enable_tls=false", where="read_csv()")
    options = system.__reduce__()[1][0]
    assert (options["account_name"], options["account_key"], options["blob_storage_scheme"]) == ("account", key, "http")
    assert path.rstrip("/") == ("box" if bucket.startswith("box") else "")

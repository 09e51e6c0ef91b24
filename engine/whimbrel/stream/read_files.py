"""Create streams from CSV, JSON lines and Arrow IPC files."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypedDict, Unpack
from zoneinfo import available_timezones

import pyarrow as pa

from whimbrel.clock import Duration
from whimbrel.connect import PartitionWatermarks
from whimbrel.connect.feeds.formats.csv_format import check_marks
from whimbrel.connect.feeds.runtime.row_validation import fields_given
from whimbrel.connect.file_formats.csv_dialect import CsvDialect
from whimbrel.connect.file_formats.csv_files import CsvFiles
from whimbrel.connect.file_formats.file_format import FileFormat
from whimbrel.connect.file_formats.files_source import FilesSource
from whimbrel.connect.file_formats.ipc_files import IpcFiles
from whimbrel.connect.file_formats.json_files import JsonFiles
from whimbrel.connect.file_formats.malformed_rows import MalformedRows
from whimbrel.connect.file_formats.schema_type_checks import check_csv_types, check_json_types
from whimbrel.connect.file_formats.text_encoding import UTF_8
from whimbrel.connect.file_formats.text_times import TextTimes
from whimbrel.connect.file_formats.zeek_files import ZeekFiles
from whimbrel.connect.files.paths import FilePath
from whimbrel.errors import PlanError
from whimbrel.migration_hints import renamed
from whimbrel.plan import Node
from whimbrel.stream.stream import Stream

_Given: TypeAlias = Mapping[str, Any] | pa.Schema | None


class FileOptions(TypedDict, total=False):
    """Options of :func:`read_csv`, :func:`read_json` and :func:`read_ipc`, as in :func:`whimbrel.read_parquet`."""

    time: str
    end: str | None
    arrival: str | None
    reorder_latency: Duration | None
    late: str | None
    partition: str | PartitionWatermarks | None
    name: str | None
    columns: Sequence[str] | None
    filesystem: Any


@renamed(sep="delimiter", separator="delimiter", dtype="schema", dtypes="schema", schema_overrides="schema",
         names="column_names", new_columns="column_names", usecols="columns", na_values="null_values",
         skiprows="skip_rows", date_format="time_format", decimal_comma="decimal", parse_dates="time")
def read_csv(path: FilePath | Iterable[FilePath], *, time: str, schema: _Given = None, delimiter: str | None = None,
             column_names: Sequence[str] | None = None, columns: Sequence[str] | None = None, end: str | None = None,
             arrival: str | None = None, reorder_latency: Duration | None = None, late: str | None = None,
             partition: str | PartitionWatermarks | None = None, name: str | None = None,
             time_format: str | None = None, timezone: str | None = None, null_values: Sequence[str] | None = None,
             decimal: str = ".", encoding: str = UTF_8, skip_rows: int = 0, filesystem: Any = None) -> Stream:
    r"""Create a stream from CSV files.

    Only the first lines of each file are read now. Types are inferred from them. A later line that does not fit is a
    dead letter: it is left out, counted and logged as a warning. See :func:`whimbrel.dead_letters`.

    Parameters
    ----------
    path : str, path, or several
        As in :func:`whimbrel.read_parquet`. Names may also end with ``.gz``, ``.zst``, ``.bz2``, ``.lz4`` or ``.br``.
    time : str
        The event-time column. Texts of ISO 8601 are times.
    schema : pyarrow.Schema or mapping of str to type, optional
        Types of some or all columns, such as ``{"price": "double"}``, instead of inferred ones. Also of columns in the
        names of folders, such as ``zip=00123``.
    delimiter : str, optional
        The character between two values. Default: a tab in files whose names end with ``.tsv``, and else a comma.
    column_names : sequence of str, optional
        Names of the columns of files without a header line.
    columns : sequence of str, optional
        The columns to read. Lines are not malformed because of values in other columns. Default: all.
    end, arrival, reorder_latency, late, partition, name, filesystem
        As in :func:`whimbrel.read_parquet`.
    time_format : str, optional
        A format of ``strptime`` for times, such as ``"%d.%m.%Y %H:%M:%S"``, besides ISO 8601. It has no fractions of
        seconds. The year of ``%Y`` has four digits.
    timezone : str, optional
        The zone of times that name none, such as ``"Europe/Berlin"``. Times are then in this zone. A local time that
        comes twice is the later one, and one that the clock skips has the offset from before, as with
        ``dt.at_time_zone``.
    null_values : sequence of str, optional
        Texts that are null in all columns, such as ``["-", "?"]``. Default: in other columns than text ``NA``, ``NaN``,
        ``null`` and other names that Arrow knows. Empty values are always null. ``[]`` makes ``nan`` a NaN of floats.
    decimal : {".", ","}, default "."
        The character before the fraction of a number. Such files mostly have ``delimiter=";"``.
    encoding : str, default "utf-8"
        The encoding of the text, such as ``"latin-1"``, ``"cp1252"`` or ``"utf-16"``. Dead letters have it in UTF-8.
    skip_rows : int, default 0
        Number of lines to skip at the beginning of each file, before the header line.

    Notes
    -----
    A line is a row, and values in quotes may have line ends. A line without a time is a dead letter, and so is one that
    does not end after it starts. A column of times has the type of most of its first values. Integers above int64 are
    ``uint64`` or text.

    All values of a line are converted, whatever a query reads. A result therefore does not depend on which columns a
    query reads.

    A line with bytes that are not text in the encoding is a dead letter. A file is an error if its header, or most of
    its first lines with letters beyond ASCII, are in another encoding.

    Files may have other columns than others. A column that a file lacks is null in its rows. Integers and floats
    become floats. Types that no type holds become text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import whimbrel as wb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = file.write_text("at,price\n1,10.5\n2,unknown\n3,12.5\n")
    >>> log = wb.read_csv(file, time="at", schema={"price": "double"})
    >>> log.select("price").collect()["price"].to_pylist()
    [10.5, 12.5]
    >>> wb.dead_letters(log).select("line", "message").collect().to_pylist()
    [{'start': 0, 'end': 1, 'line': 3, 'message': b'2,unknown'}]
    """
    where = f"read_csv(..., time={time!r})"
    given = _given(schema, where)
    check_csv_types(given, where)
    by_ending, delimiter = delimiter is None, "," if delimiter is None else delimiter
    check_marks(delimiter, decimal, where="read_csv(...)")
    if not isinstance(skip_rows, int) or isinstance(skip_rows, bool) or skip_rows < 0:
        raise PlanError(f"skip_rows must be an integer of at least 0, got {skip_rows!r}.", where="read_csv(...)",
                        hint="Use the number of lines before the header line.")
    times = _text_times(time_format, timezone)
    given = pa.schema([field.with_type(times.typed(field.type)) for field in given])
    dialect = CsvDialect(delimiter, times, None if null_values is None else _null_values(null_values),
                         decimal)
    return _stream(path, CsvFiles(dialect, column_names, given, by_ending=by_ending,
                                  encoding=_encoding(encoding, "read_csv"), skip_rows=skip_rows),
                   "read_csv", given, time=time, columns=columns, end=end, arrival=arrival,
                   reorder_latency=reorder_latency, late=late, partition=partition, name=name, filesystem=filesystem)


def read_json(path: FilePath | Iterable[FilePath], *, time: str, schema: _Given = None,
              columns: Sequence[str] | None = None, end: str | None = None, arrival: str | None = None,
              reorder_latency: Duration | None = None, late: str | None = None,
              partition: str | PartitionWatermarks | None = None, name: str | None = None, encoding: str = UTF_8,
              filesystem: Any = None) -> Stream:
    r"""Create a stream from files of JSON lines.

    Each line is an object. Parameters, types and dead letters as in :func:`read_csv`. A column has the type of most of
    its first values. Names that the first lines do not have are left out, unless `schema` has them. A number among
    times that are texts is a dead letter.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import whimbrel as wb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = file.write_text('{"at": 1, "x": 10}\n{"at": 2}\n')
    >>> wb.read_json(file, time="at").collect().to_pylist()
    [{'start': 1, 'end': 2, 'at': 1, 'x': 10}, {'start': 2, 'end': 3, 'at': 2, 'x': None}]
    """
    where = f"read_json(..., time={time!r})"
    given = _given(schema, where)
    check_json_types(given, where)
    return _stream(path, JsonFiles(given, _encoding(encoding, "read_json")), "read_json", given, time=time,
                   columns=columns, end=end, arrival=arrival, reorder_latency=reorder_latency, late=late,
                   partition=partition, name=name, filesystem=filesystem)


def read_ipc(path: FilePath | Iterable[FilePath], *, time: str, columns: Sequence[str] | None = None,
             end: str | None = None, arrival: str | None = None, reorder_latency: Duration | None = None,
             late: str | None = None, partition: str | PartitionWatermarks | None = None,
             name: str | None = None, filesystem: Any = None) -> Stream:
    """Create a stream from Arrow IPC or Feather files.

    Parameters as in :func:`read_csv`. Files are mapped to memory.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import pyarrow as pa
    >>> import whimbrel as wb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "log.arrow"
    >>> rows = pa.record_batch({"at": [1, 2], "x": [10, 20]})
    >>> with pa.ipc.new_file(file, rows.schema) as writer:
    ...     writer.write_batch(rows)
    >>> wb.read_ipc(file, time="at").collect()["x"].to_pylist()
    [10, 20]
    """
    return _stream(path, IpcFiles(), "read_ipc", pa.schema([]), time=time, columns=columns, end=end, arrival=arrival,
                   reorder_latency=reorder_latency, late=late, partition=partition, name=name,
                   filesystem=filesystem)


def read_zeek(path: FilePath | Iterable[FilePath], *, time: str = "ts", columns: Sequence[str] | None = None,
              end: str | None = None, arrival: str | None = None, reorder_latency: Duration | None = None,
              late: str | None = None, partition: str | PartitionWatermarks | None = None,
              name: str | None = None) -> Stream:
    r"""Create a stream from logs of Zeek, such as ``conn.log``.

    The first lines of a log name its columns and types. Addresses, sets and vectors are text, and intervals seconds.
    Parameters and dead letters as in :func:`read_csv`. Logs in JSON are read by :func:`read_json`.
    Counts are int64: larger ones are null, and Python's log says how many there were.

    Rows are in the order in which Zeek wrote them: a connection comes when it ends. Use ``arrival=wb.FILE_ORDER``, or
    `reorder_latency`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import whimbrel as wb
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "conn.log"
    >>> head = "#separator \\x09\n#unset_field\t-\n#fields\tts\tid.resp_p\tduration\n#types\ttime\tport\tinterval\n"
    >>> _ = file.write_text(head + "1700000000.5\t53\t0.25\n1700000001.5\t443\t-\n")
    >>> log = wb.read_zeek(file)
    >>> log.select("id.resp_p", "duration").collect().drop(["start", "end"]).to_pylist()
    [{'id.resp_p': 53, 'duration': 0.25}, {'id.resp_p': 443, 'duration': None}]
    """
    return _stream(path, ZeekFiles(), "read_zeek", pa.schema([]), time=time, columns=columns, end=end, arrival=arrival,
                   reorder_latency=reorder_latency, late=late, partition=partition, name=name)


def dead_letters(log: Stream) -> Stream:  # word allowed: a row of a dead-letter queue is a dead letter
    """Create a stream of the malformed lines of CSV or JSON files.

    Columns: number (the event time: 0, 1, 2, ...), file, line (from 1), reason, message (its first 4 kB) and size.

    Reading it reads the files. For the dead letters of a feed see :func:`whimbrel.feeds.dead_letters`.

    Parameters
    ----------
    log : Stream
        The stream of :func:`read_csv` or :func:`read_json`, without further steps.
    """
    source = log.node.op if isinstance(log, Stream) else log
    if not isinstance(source, FilesSource):
        raise PlanError("dead_letters() needs a stream of read_csv() or read_json() without further steps.",
                        where="dead_letters(...)", hint="Pass the stream itself, or a feed to wb.feeds.dead_letters().")
    return Stream(Node(MalformedRows(source)))


def _null_values(null_values: Sequence[str]) -> tuple[str, ...]:
    if isinstance(null_values, str) or not all(isinstance(each, str) for each in null_values):
        raise PlanError(f"null_values must be a list of texts, got {null_values!r}.", where="read_csv(...)",
                        hint='Use for example null_values=["-", "NA"].')
    return tuple(null_values)


def _encoding(encoding: str, call: str) -> str:
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, TypeError, ValueError):
        raise PlanError(f"encoding must be the name of an encoding, got {encoding!r}.", where=f"{call}(...)",
                        hint='Use for example encoding="latin-1".') from None


def _text_times(time_format: str | None, timezone: str | None) -> TextTimes:
    if time_format is not None and (not isinstance(time_format, str) or "%" not in time_format):
        raise PlanError(f"time_format must be a format of strptime, got {time_format!r}.", where="read_csv(...)",
                        hint='Use for example time_format="%d.%m.%Y %H:%M:%S".')
    if timezone is not None and (not isinstance(timezone, str) or timezone not in available_timezones()):
        raise PlanError(f"timezone must be the name of a zone, got {timezone!r}.", where="read_csv(...)",
                        hint='Use for example timezone="Europe/Berlin".')
    return TextTimes(time_format, timezone)


def _given(schema: _Given, where: str) -> pa.Schema:
    return pa.schema([]) if schema is None else fields_given(schema, where)


def _stream(path: FilePath | Iterable[FilePath], format_: FileFormat, call: str, given: pa.Schema,
            **options: Unpack[FileOptions]) -> Stream:
    return Stream(Node(FilesSource(path, format_, call, given=given, **options)))

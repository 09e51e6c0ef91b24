"""Data files of Iceberg tables as JSON, which commit tokens are."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

_COUNTS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
_BOUNDS = ("lower_bounds", "upper_bounds")
_PLAIN = ("file_path", "record_count", "file_size_in_bytes", "split_offsets")


def as_json(file: Any, partition: Any) -> dict[str, Any]:
    """A data file as JSON.

    Parameters
    ----------
    file : pyiceberg.manifest.DataFile
    partition : pyiceberg.types.StructType
        Types of the values of its partition.
    """
    from pyiceberg.conversions import to_bytes

    values = [None if (value := file.partition[number]) is None else _text(to_bytes(field.field_type, value))
              for number, field in enumerate(partition.fields)]
    return {**{name: getattr(file, name) for name in _PLAIN},
            **{name: {str(key): value for key, value in (getattr(file, name) or {}).items()} for name in _COUNTS},
            **{name: {str(key): _text(value) for key, value in (getattr(file, name) or {}).items()}
               for name in _BOUNDS},
            "partition": values}


def data_file(saved: dict[str, Any], partition: Any) -> Any:
    """The data file that :func:`as_json` saved."""
    from pyiceberg.conversions import from_bytes
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    values = [None if text is None else from_bytes(field.field_type, b64decode(text))
              for field, text in zip(partition.fields, saved["partition"], strict=True)]
    return DataFile.from_args(
        content=DataFileContent.DATA, file_format=FileFormat.PARQUET, partition=Record(*values),
        sort_order_id=None, equality_ids=None, key_metadata=None,
        **{name: saved[name] for name in _PLAIN},
        **{name: {int(key): value for key, value in saved[name].items()} for name in _COUNTS},
        **{name: {int(key): b64decode(text) for key, text in saved[name].items()} for name in _BOUNDS})


def _text(value: bytes) -> str:
    return b64encode(value).decode()

"""Partition columns of a table, from its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from whimbrel.connect.files.data_file import DataFile
from whimbrel.connect.files.hive_partitions import FolderColumns


class PartitionValues(FolderColumns):
    """Partition columns of a table.

    Parameters
    ----------
    fields : sequence of pyarrow.Field
    values : mapping of DataFile to (mapping of str to value)
        Values by file, in the order of reading.
    """

    def __init__(self, fields: Sequence[pa.Field], values: Mapping[DataFile, Mapping[str, Any]]) -> None:
        self.fields = list(fields)
        self._values = {file: dict(each) for file, each in values.items()}

    def add_nulls(self, fields: Sequence[pa.Field]) -> None:
        """Add columns that no file has."""
        self.fields += fields
        for values in self._values.values():
            values.update({field.name: None for field in fields})

    def in_order(self) -> list[DataFile]:
        return list(self._values)

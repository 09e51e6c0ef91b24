"""Serialize operator state to an Arrow file."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Schema, numpy_type
from whimbrel.kernels import FIXED, ObjectState

_METADATA = b"whimbrel.state"
_COMPRESSION = "zstd" if pa.Codec.is_available("zstd") else None

_SHORT = 1 << 13

Tree = Any
"""JSON: a plain value as it is, everything else as an object with one key that says what it is."""


class _Arrays(dict[str, pa.Array]):
    """Columns of a file, by name. Short NumPy arrays of one type share a column: each column costs much more."""

    def __init__(self) -> None:
        self._short: dict[str, list[np.ndarray[Any, Any]]] = {}
        self._lengths: dict[str, int] = {}

    def add(self, name: str, values: pa.Array) -> None:
        offsets = Column(pa.int64(), np.array([0, len(values)], np.int64)).to_arrow()
        self[name] = pa.LargeListArray.from_arrays(offsets, values)

    def add_numbers(self, name: str, values: np.ndarray[Any, Any]) -> list[Any]:
        """Where they are: the column and the first row in it."""
        if values.size >= _SHORT:
            self.add(name, _from_numpy(values.reshape(-1)))
            return [name, 0]
        column = f"short {values.dtype.str}"
        first = self._lengths.get(column, 0)
        self._short.setdefault(column, []).append(values.reshape(-1))
        self._lengths[column] = first + values.size
        return [column, first]

    def end(self) -> None:
        for column, arrays in self._short.items():
            self.add(column, _from_numpy(np.concatenate(arrays)))


def _from_numpy(values: np.ndarray[Any, Any]) -> pa.Array:
    return Column(pa.from_numpy_dtype(values.dtype), values).to_arrow()


def write_state(path: Path, state: Any) -> None:
    """Write state (see :func:`whimbrel.kernels.state_of`) to a file."""
    arrays = _Arrays()
    tree = _tree(state, "state", arrays)
    arrays.end()
    schema = pa.schema([pa.field(name, array.type) for name, array in arrays.items()],
                       metadata={_METADATA: json.dumps(tree)})
    row = pa.RecordBatch.from_arrays(list(arrays.values()), schema=schema) if arrays else None
    with pa.OSFile(str(path), "wb") as file, \
            pa.ipc.new_file(file, schema, options=pa.ipc.IpcWriteOptions(compression=_COMPRESSION)) as writer:
        if row is not None:
            writer.write_batch(row)


def read_state(path: Path) -> Any:
    """What :func:`write_state` wrote."""
    with pa.OSFile(str(path), "rb") as file, pa.ipc.open_file(file) as reader:
        tree = json.loads(reader.schema.metadata[_METADATA])
        row = reader.get_batch(0) if reader.num_record_batches else None

    found: dict[str, pa.Array] = {}

    def array(name: str) -> pa.Array:
        assert row is not None
        if name not in found:
            found[name] = row.column(name).values
        return found[name]

    return _state(tree, array)


def _tree(value: Any, name: str, arrays: _Arrays) -> Tree:
    """The tree of a value; its arrays go into `arrays`, named by the path to them."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.ndarray():
            place = arrays.add_numbers(name, value)
            return {"numbers": [*place, value.dtype.str, list(value.shape), value.flags.writeable]}
        case pa.Array():
            arrays.add(name, value.dictionary_decode() if pa.types.is_dictionary(value.type) else value)
            return {"array": name}
        case Column():
            arrays.add(name, value.to_arrow())
            return {"column": name}
        case Schema():
            types = {field.name: Column.nulls(field.type, 0).to_arrow() for field in value}
            for field, none in types.items():
                arrays.add(f"{name}.{field}", none)
            return {"schema": [[[field, f"{name}.{field}"] for field in types], value.unit, value.zone]}
        case Batch():
            parts = {part.name: getattr(value, part.name) for part in fields(Batch)} | {"times": value.sync}
            return {"batch": _trees(parts, name, arrays)}
        case ObjectState(parts):
            return {"parts": _trees(parts, name, arrays)}
        case list() | tuple():
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [_tree(item, f"{name}.{index}", arrays) for index, item in enumerate(value)]}
        case dict():
            return {"dict": [[_tree(key, name, arrays), _tree(item, f"{name}.{index}", arrays)]
                             for index, (key, item) in enumerate(value.items())]}
    assert value is FIXED, type(value)
    return {"fixed": 0}


def _trees(parts: dict[str, Any], name: str, arrays: _Arrays) -> dict[str, Tree]:
    return {part: _tree(item, f"{name}.{part}", arrays) for part, item in parts.items()}


def _state(tree: Tree, array: Callable[[str], pa.Array]) -> Any:
    if not isinstance(tree, dict):
        return tree
    (kind, what), = tree.items()
    match kind:
        case "numbers":
            return _numbers(array(what[0]), *what[1:])
        case "array":
            return array(what)
        case "column":
            return Column.from_arrow(array(what))
        case "schema":
            return Schema(tuple(Field(name, array(index).type) for name, index in what[0]), *what[1:])
        case "batch":
            return Batch(**{name: _state(part, array) for name, part in what.items()})
        case "parts":
            return ObjectState({name: _state(part, array) for name, part in what.items()})
        case "list":
            return [_state(item, array) for item in what]
        case "tuple":
            return tuple(_state(item, array) for item in what)
        case "dict":
            return {_state(key, array): _state(item, array) for key, item in what}
    return FIXED


def _numbers(values: pa.Array, first: int, dtype: str, shape: list[int], writeable: bool) -> np.ndarray[Any, Any]:
    assert numpy_type(values.type) == np.dtype(dtype)
    values = values.slice(first, math.prod(shape))
    numbers = np.asarray(Column.from_arrow(values).values).reshape(shape)
    return numbers.copy() if writeable else numbers

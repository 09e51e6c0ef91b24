"""Dense ids for the values of key columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Column, Mask, Storage, frozen, numpy_type
from whimbrel.errors import SchemaError
from whimbrel.kernels.compile import Compiled
from whimbrel.kernels.primitives.hashing import hash_table as primitive
from whimbrel.kernels.state import restored

Array = np.ndarray[Any, Any]

_lookup = Compiled(primitive.lookup)
_refill = Compiled(primitive.refill)
_FEW_KEYS = 65_536
"""So many keys take so little memory that none is removed."""
_SKIP_NONE = np.empty(0, np.bool_)
_SKIP_NONE.flags.writeable = False


class IntegerKeys:
    """Ids for int64 keys, growing as needed; the `hidden` id, if there is one, is that of no key."""

    def __init__(self) -> None:
        self.direct = np.zeros(1024, np.int32)
        self.table = np.zeros(2 * 1024, np.int64)
        self.keys = np.zeros(512, np.int64)
        self.size = np.zeros(1, np.int64)
        self.hidden = np.full(1, -1, np.int64)

    def __len__(self) -> int:
        return int(self.size[0])

    def ids(self, values: Array, skip: Mask | None = None) -> Array:
        ids = np.empty(len(values), np.int32)
        skipped = _SKIP_NONE if skip is None else frozen(skip)
        row = 0
        while row < len(values):
            row = int(_lookup(self.direct, self.table, self.keys, self.size, values, skipped, ids, row))
            if row < len(values):
                self.grow()
        return ids

    def state_parts(self) -> dict[str, Any]:
        return vars(self)

    def grow(self) -> None:
        """Double the slots, and the numbers that need none."""
        self.direct = np.zeros(2 * len(self.direct), np.int32)
        self.table = np.zeros(2 * len(self.table), np.int64)
        self.keys = np.concatenate([self.keys, np.zeros_like(self.keys)])
        _refill(self.direct, self.table, self.keys, int(self.size[0]), self.hidden)


class ColumnKeys:
    """Ids for the values of one column; a null is a value like any other here (grouping treats nulls as equal)."""

    def __init__(self, type_: pa.DataType) -> None:
        if pa.types.is_nested(type_):
            raise SchemaError(f"A key must be a number, a string, a time or a boolean, got {type_}.",
                              hint="Use another column, or cast this one.")
        self.type = type_
        self.physical = numpy_type(type_)
        self.integers = IntegerKeys()
        self.null_id = -1
        self._words: dict[Any, int] = {}
        self._dictionary = pa.nulls(0, type_)  # of words: position is id, but one less after the null
        self._seen: tuple[pa.Array | None, Array | None] = (None, None)  # a dictionary, and the ids of its words
        self._given = self._dictionary  # with the last values

    def __len__(self) -> int:
        return len(self._words) if self.physical is None else len(self.integers)

    def ids(self, column: Column, skip: Mask | None) -> Array:
        if self.physical is None:
            return self._word_ids(column.values)
        values = encode_keys(np.asarray(column.values))
        if column.valid is None:
            return self.integers.ids(values, skip)
        hidden = ~column.valid if skip is None else skip | ~column.valid
        ids = self.integers.ids(values, hidden)
        ids[~column.valid] = self._id_of_null()
        return ids

    def _id_of_null(self) -> int:
        if self.null_id < 0:  # an id of its own: a key that no value can find, since it is in no slot
            if len(self.integers) >= len(self.integers.keys):
                self.integers.grow()
            self.null_id = len(self.integers)
            self.integers.hidden[0] = self.null_id
            self.integers.size[0] += 1
        return self.null_id

    def _word_ids(self, array: pa.Array) -> Array:
        if pa.types.is_null(array.type):  # Arrow makes a null a word of these, and it is none
            return np.full(len(array), self._id_of_no_word(), np.int32) if len(array) else np.empty(0, np.int32)
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        known, ids = self._seen
        if known is None or not _same_memory(known, coded.dictionary):
            ids = None
            if len(coded.dictionary) > len(coded):  # the other words are learned if they come again
                self._seen = coded.dictionary, None
                used = coded.dictionary_decode().dictionary_encode()
                return self._ids_of_codes(used.indices, self._learn(used.dictionary))
        if ids is None:
            ids = self._learn(coded.dictionary)
            self._seen = coded.dictionary, ids
        return self._ids_of_codes(coded.indices, ids)

    def _ids_of_codes(self, indices: pa.Array, ids: Array) -> Array:
        codes = Column.from_arrow(indices)
        if codes.valid is None:
            return ids[codes.values] if len(ids) else np.zeros(len(codes), np.int32)
        return np.append(ids, np.int32(self._id_of_no_word()))[np.where(codes.valid, codes.values, len(ids))]

    def _id_of_no_word(self) -> int:
        self.null_id = self._words.setdefault(None, len(self._words))
        return self.null_id

    def _learn(self, words: pa.Array) -> Array:
        """The ids of words; those not seen before get the next ones, also where a dictionary has one twice.

        A null among them is no word: its id is that of all nulls, and it is left out of the dictionary.
        """
        if words.null_count:
            self._id_of_no_word()
        before = len(self._words)
        ids = np.array([self._words.setdefault(word, len(self._words)) for word in words.to_pylist()], np.int32)
        new = np.zeros(len(ids), np.bool_)
        new[np.unique(ids, return_index=True)[1]] = True
        new &= ids >= before
        if new.any():
            fresh = words.filter(Column(pa.bool_(), new).to_arrow()).cast(self.type)
            self._dictionary = pa.concat_arrays([self._dictionary, fresh])
        return ids

    def state_parts(self) -> dict[str, Any]:
        """Without the words: they are those of the dictionary."""
        return {"integers": self.integers, "null_id": self.null_id, "dictionary": self._dictionary}

    def restore_state(self, parts: dict[str, Any]) -> None:
        restored(self.integers, parts["integers"])
        self.null_id, self._dictionary = parts["null_id"], parts["dictionary"]
        words = self._dictionary.to_pylist()
        if self.physical is None and self.null_id >= 0:
            words.insert(self.null_id, None)
        self._words = {word: number for number, word in enumerate(words)}

    def column(self, ids: Array, storage: Storage | None = None) -> Column:
        """The values that have these ids; in a `storage`, where they stay."""
        if self.physical is None:
            known = None if self.null_id < 0 else ids != self.null_id
            order = ids if known is None else np.where(ids > self.null_id, ids - 1, np.where(known, ids, 0))
            codes = Column(pa.int32(), order.astype(np.int32, copy=False), known).to_arrow()
            grown, self._given = self._given is not self._dictionary, self._dictionary
            if grown and 2 * len(ids) < len(self._dictionary):  # rows that are kept would keep all words so far
                return Column(self.type, self._dictionary.take(codes))
            return Column(self.type, pa.DictionaryArray.from_arrays(codes, self._dictionary))
        keys = self.integers.keys
        values = decode_keys(keys[ids] if storage is None else storage.take(keys, ids), self.physical)
        return Column(self.type, values, None if self.null_id < 0 else ids != self.null_id)


class KeyTable:
    """Ids for rows of several key columns; no column at all means one group for everything.

    Column by column, the id so far and the id of the next value make a pair that gets an id of its own.
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.columns = [ColumnKeys(type_) for type_ in types]
        self.pairs = [IntegerKeys() for _ in self.columns[1:]]
        self.limit = _FEW_KEYS

    def __len__(self) -> int:
        """How many ids are given; ids are 0 ... len - 1."""
        if not self.columns:
            return 1
        return len(self.pairs[-1]) if self.pairs else len(self.columns[0])

    @property
    def is_crowded(self) -> bool:
        """Whether there are so many keys that those of groups that are over should be removed."""
        return len(self) > self.limit

    def keep_only(self, ids: Array) -> tuple[KeyTable, Array]:
        """A table with the keys that have these ids, and the id of each there; this table stays, copies share it.

        The new table is crowded when it has twice as many keys: so each key is moved once on average, at most.
        """
        table = KeyTable([keys.type for keys in self.columns])
        numbers = table.ids(self.values(ids), len(ids))
        table.limit = max(_FEW_KEYS, 2 * len(ids))
        return table, numbers

    def fork(self) -> KeyTable:
        """Itself: a table only grows, so a copy may share it."""
        return self

    def state_parts(self) -> dict[str, Any]:
        return {"columns": self.columns, "pairs": self.pairs}

    def ids(self, columns: Sequence[Column], rows: int, skip: Mask | None = None) -> Array:
        """Dense int32 id of each row; rows to skip get some id that means nothing."""
        if not columns:
            return np.zeros(rows, np.int32)
        ids = self.columns[0].ids(columns[0], skip)
        for keys, pairs, column in zip(self.columns[1:], self.pairs, columns[1:], strict=True):
            pair = frozen(ids.astype(np.int64) << 32 | keys.ids(column, skip))
            ids = pairs.ids(pair, skip)
        return ids

    @property
    def names(self) -> Array | None:
        """The keys by id, where each is one number that is never missing: who keeps these needs no ids."""
        numbers = len(self.columns) == 1 and self.columns[0].physical is not None and self.columns[0].null_id < 0
        return frozen(self.columns[0].integers.keys) if numbers else None

    def named(self, names: Array) -> tuple[Column, ...]:
        """The key column that has these numbers."""
        only, = self.columns
        assert only.physical is not None
        return (Column(only.type, decode_keys(names, only.physical)),)

    def values(self, ids: Array, storage: Storage | None = None) -> tuple[Column, ...]:
        """The key columns that have these ids; in a `storage`, where they stay."""
        if not self.columns:
            return ()
        found = []
        for keys, pairs in zip(reversed(self.columns[1:]), reversed(self.pairs), strict=True):
            pair = pairs.keys[ids]
            found.append(keys.column((pair & 0xFFFFFFFF).astype(np.int32), storage))
            ids = (pair >> 32).astype(np.int32)
        found.append(self.columns[0].column(ids, storage))
        return tuple(reversed(found))


def encode_keys(values: Array) -> Array:
    """Key values as int64 so that equal values, and only they, have equal integers."""
    if values.dtype.kind == "f":
        wide = values.astype(np.float64) + 0.0  # -0.0 becomes 0.0
        wide[np.isnan(wide)] = np.nan
        values = wide.view(np.int64)
    values = values.view(np.int64) if values.dtype == np.uint64 else values.astype(np.int64, copy=False)
    return frozen(values)


def decode_keys(values: Array, physical: np.dtype[Any]) -> Array:
    """The values that were encoded."""
    if physical.kind == "f":
        return values.view(np.float64).astype(physical)
    return values.view(np.uint64) if physical == np.uint64 else values.astype(physical, copy=False)


def _same_memory(left: pa.Array, right: pa.Array) -> bool:
    if len(left) != len(right) or left.offset != right.offset:
        return False
    mine, theirs = ([None if buffer is None else (buffer.address, buffer.size) for buffer in words.buffers()]
                    for words in (left, right))
    return mine[-1] is not None and mine == theirs

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.batch import Column
from whimbrel.kernels import IntegerKeys, KeyTable, restored, state_of, tier
from whimbrel.kernels.primitives.hashing.hash_table import slot_of

EXTREME = st.sampled_from([-(2**63), 2**63 - 1, -1, 0, 1, 2**32]) | st.integers(-(2**63), 2**63 - 1)


@given(st.lists(EXTREME | st.none()), st.lists(st.sampled_from(["a", "b", "", None])))
def test_equal_rows_and_only_they_have_equal_ids(numbers: list[int | None], words: list[str | None]) -> None:
    rows = list(zip(numbers, words, strict=False))
    columns = [
        Column.from_arrow(pa.array([number for number, _ in rows], pa.int64())),
        Column.from_arrow(pa.array([word for _, word in rows], pa.string())),
    ]
    table = KeyTable([pa.int64(), pa.string()])
    ids = table.ids(columns, len(rows))
    assert len(set(ids.tolist())) == len(set(rows))
    values = [column.to_arrow().to_pylist() for column in table.values(ids)]
    assert list(zip(*values, strict=True)) == rows
    assert table.ids(columns, len(rows)).tolist() == ids.tolist()


@pytest.mark.parametrize("name", ["interpreted", "primitives"])
def test_the_table_grows_and_keeps_ids_dense(name: str) -> None:
    keys = IntegerKeys()
    values = np.arange(5_000) * 2**40 - 2**50
    values.flags.writeable = False
    with tier(name):
        ids = keys.ids(values)
        again = keys.ids(values[::-1].copy())
    assert ids.tolist() == list(range(5_000))
    assert again.tolist() == list(range(4_999, -1, -1))
    assert (keys.keys[: len(keys)] == values).all()


@pytest.mark.parametrize("values", [np.arange(400), np.arange(400) << 40, np.arange(400.0).view(np.int64)],
                         ids=["numbers", "high bits", "floats"])
def test_keys_of_a_pattern_begin_at_slots_of_their_own(values: np.ndarray) -> None:
    empty = IntegerKeys().table
    with np.errstate(over="ignore"):
        slots = {int(slot_of(empty, key)) for key in values}
    assert len(slots) > 0.75 * len(values)  # by chance it would be 0.83


@pytest.mark.parametrize("name", ["interpreted", "primitives"])
def test_numbers_that_become_small_enough_are_found_where_they_go_then(name: str) -> None:
    keys = IntegerKeys()
    small = len(keys.direct)
    values = np.concatenate([[small, -1, 2**63 - 1, -(2**63), 4 * small - 1, small - 1], np.arange(2 * small)])
    values.flags.writeable = False
    with tier(name):
        ids = keys.ids(values)
        again = keys.ids(values)
    assert len(keys.direct) > 2 * small
    assert keys.keys[ids].tolist() == values.tolist()
    assert again.tolist() == ids.tolist()
    assert len(keys) == len(set(values.tolist()))


def test_floats_group_by_value_not_by_bits() -> None:
    table = KeyTable([pa.float64()])
    ids = table.ids([Column(pa.float64(), np.array([0.0, -0.0, np.nan, -np.nan, 1.5]))], 5)
    assert ids.tolist() == [0, 0, 1, 1, 2]


def test_rows_to_skip_make_no_key() -> None:
    table = KeyTable([pa.int64()])
    table.ids([Column(pa.int64(), np.array([7, 8, 9]))], 3, np.array([False, True, False]))
    assert table.values(np.arange(len(table)))[0].values.tolist() == [7, 9]


def test_dictionaries_that_differ_from_batch_to_batch_are_one_key_space() -> None:
    table = KeyTable([pa.string()])
    first = Column.from_arrow(pa.array(["x", "y"]).dictionary_encode())
    second = Column.from_arrow(pa.array(["y", "z", "x"]).dictionary_encode())
    assert table.ids([first], 2).tolist() == [0, 1]
    assert table.ids([second], 3).tolist() == [1, 2, 0]


def test_a_null_is_not_zero_after_the_table_has_grown() -> None:
    keys = KeyTable([pa.int64()])

    def ids(*values: int | None) -> list[int]:
        return keys.ids([Column.from_arrow(pa.array(values, pa.int64()))], len(values)).tolist()  # type: ignore[no-any-return]

    assert (ids(None), ids(0)) == ([0], [1])
    ids(*range(1, 2_000))
    assert ids(0, None, 1) == [1, 0, 2]


def test_a_dictionary_may_have_a_word_twice() -> None:
    table = KeyTable([pa.string()])
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), pa.array(["a", "a", "b", "c"]))
    ids = table.ids([Column.from_arrow(twice)], 4)
    [words] = table.values(ids)
    assert words.to_arrow().to_pylist() == ["a", "a", "b", "c"]


def test_dictionaries_may_share_their_text_buffer() -> None:
    table, buffer = KeyTable([pa.string()]), pa.py_buffer(b"abc")
    words = [pa.StringArray.from_buffers(2, pa.array(offsets, pa.int32()).buffers()[1], buffer)
             for offsets in ([0, 1, 3], [0, 2, 3])]
    ids = [table.ids([Column.from_arrow(pa.DictionaryArray.from_arrays(pa.array([0, 1]), each))], 2).tolist()
           for each in words]
    assert ids == [[0, 1], [2, 3]]


@pytest.mark.parametrize("words", [
    pa.nulls(3), pa.nulls(3).dictionary_encode(),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), pa.array(["a", None, "b"])),
    pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array([None, "a"])),
])
def test_a_null_among_words_is_no_word(words: pa.Array) -> None:
    type_ = words.type.value_type if pa.types.is_dictionary(words.type) else words.type
    column = Column(type_, words)
    table, again = KeyTable([type_]), KeyTable([type_])
    ids = table.ids([column], len(words))
    restored(again, state_of(table))
    values = words.to_pylist()
    assert len(table) == len(again) == len(set(values))
    for keys in (table, again):
        assert keys.ids([column], len(words)).tolist() == ids.tolist()
        assert keys.values(ids)[0].to_arrow().to_pylist() == values


def test_words_of_other_rows_are_learned_when_their_dictionary_comes_again():
    keys = KeyTable([pa.string()])
    words = pa.array(["a", "b", "c", "d", None])
    first = pa.DictionaryArray.from_arrays(pa.array([2, None, 4]), words)
    assert keys.ids([Column(pa.string(), first)], 3).tolist() == [0, 1, 1]
    assert len(keys) == 2
    again = pa.DictionaryArray.from_arrays(pa.array([3, 2]), words)
    ids = keys.ids([Column(pa.string(), again)], 2)
    assert len(keys) == 5
    assert keys.values(ids)[0].to_arrow().to_pylist() == ["d", "c"]


def test_few_values_of_a_table_that_grows_hold_no_other_words():
    keys = KeyTable([pa.string()])
    for begin in (0, 100):
        ids = keys.ids([Column(pa.string(), pa.array([f"s{begin + number}" for number in range(100)]))], 100)
        few, all_again = keys.values(ids[-2:])[0].values, keys.values(ids[-2:])[0].values
        assert not pa.types.is_dictionary(few.type)
        assert few.to_pylist() == [f"s{begin + 98}", f"s{begin + 99}"]
        assert len(all_again.dictionary) == begin + 100

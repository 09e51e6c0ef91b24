"""Keys: one series each, in order of first appearance, in a slot that they keep."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel_workbench.frames.labels import Slots, labels

keys = st.lists(st.sampled_from(["JFK", "LGA", "EWR", None]), max_size=30)


@settings(deadline=None)
@given(keys, keys)
def test_labels_are_the_distinct_keys_in_order_of_appearance(one: list[str | None], two: list[str | None]) -> None:
    length = min(len(one), len(two))
    rows = list(zip(one[:length], two[:length], strict=True))
    columns = zip(*rows, strict=True) if rows else ((), ())
    table = pa.table([pa.array(column, pa.string()) for column in columns], ["a", "b"])
    found = labels(table, ["a", "b"])
    words = [f"{a or '(null)'}, {b or '(null)'}" for a, b in rows]
    assert list(found.names) == list(dict.fromkeys(words))
    assert [found.names[code] for code in found.codes] == words


def test_dictionary_columns_of_several_chunks_share_their_labels() -> None:
    chunks = [pa.array(["x", "y"]).dictionary_encode(), pa.array(["y", "z"]).dictionary_encode()]
    found = labels(pa.table({"k": pa.chunked_array(chunks)}), ["k"])
    assert found.names == ("x", "y", "z")
    assert found.codes.tolist() == [0, 1, 1, 2]
    assert found.rows.tolist() == [1, 2, 1]


def test_integers_can_be_keys() -> None:
    assert labels(pa.table({"hour": [7, 9, 7]}), ["hour"]).names == ("7", "9")


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 50), min_size=1), min_size=1))
def test_a_seated_key_keeps_its_slot_until_another_takes_it(moments: list[dict[str, int]]) -> None:
    slots = Slots(maximum=3)
    for rows in moments:
        before, slots = slots, slots.assign(tuple(rows), list(rows.values()))
        assert len(slots.names) <= 3
        assert len(set(slots.names)) == len(slots.names)
        for slot, (was, now) in enumerate(zip(before.names, slots.names, strict=False)):
            if was != now:
                assert rows[now] > 1.25 * rows.get(was, 0), slot


def test_between_equally_many_rows_the_larger_values_are_seated() -> None:
    assert Slots(maximum=1).assign(("a", "b"), np.array([2, 2]), np.array([10.0, 90.0])).names == ("b",)


def test_a_null_key_has_a_label_however_the_rows_are_cut() -> None:
    parts = [pa.table({"k": ["x", None]}), pa.table({"k": pa.array([None], pa.string())}), pa.table({"k": ["y", "x"]})]
    found = labels(pa.concat_tables(parts), ["k"])
    assert found.names == ("x", "(null)", "y")
    assert found.codes.tolist() == [0, 1, 1, 2, 0]


def test_an_empty_text_can_be_read() -> None:
    found = labels(pa.table({"k": ["a", "", None], "to": ["b", "c", ""]}), ["k", "to"])
    assert found.names == ("a, b", "(empty), c", "(null), (empty)")

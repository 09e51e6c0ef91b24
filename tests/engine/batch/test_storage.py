"""Rows that stay do not hold on to the memory in which they were computed."""

import weakref

import numpy as np
import pyarrow as pa

import whimbrel as wb
from whimbrel import col
from whimbrel.batch import Batch, Column, Field, Schema, Storage, table_from_batches

ROWS = 65_536


def test_large_arrays_share_one_block():
    storage = Storage()
    first, second = (storage.keep(np.full(ROWS, value)) for value in (1, 2))
    assert first.base is not None
    assert first.base.obj.base is second.base.obj.base
    assert np.concatenate([first, second]).tolist() == [1] * ROWS + [2] * ROWS
    assert second.__array_interface__["data"][0] % 64 == first.__array_interface__["data"][0] % 64


def test_more_than_a_block_holds():
    storage = Storage()
    kept = [storage.keep(np.full(ROWS, value)) for value in range(100)]  # 50 MB
    assert [int(each[0]) for each in kept] == [int(each[-1]) for each in kept] == list(range(100))


def test_a_block_is_used_again_when_nobody_holds_a_part_of_it():
    storage = Storage()
    part = storage.keep(np.full(ROWS, 1))
    address = part.__array_interface__["data"][0]
    array = Column(pa.int64(), part[10:]).to_arrow()
    del storage, part
    assert Storage().keep(np.full(ROWS, 2)).__array_interface__["data"][0] != address
    assert array.to_pylist() == [1] * (ROWS - 10)
    del array
    later = [Storage().keep(np.full(ROWS, 3)) for _ in range(8)]
    assert address in [each.__array_interface__["data"][0] for each in later]


def test_a_block_is_begun_again_where_nobody_holds_a_part_of_it():
    storage = Storage()
    address = storage.keep(np.full(ROWS, 1)).__array_interface__["data"][0]
    held = storage.keep(np.full(ROWS, 2))[10:]
    assert held.__array_interface__["data"][0] == address + 80
    assert storage.keep(np.full(ROWS, 3)).__array_interface__["data"][0] != address
    assert set(held) == {2}
    del held
    assert storage.keep(np.full(ROWS, 4)).__array_interface__["data"][0] == address


def test_what_is_gathered_into_a_block_is_not_copied_again():
    storage = Storage()
    taken = storage.take(np.arange(ROWS), np.arange(ROWS)[::-1])
    assert taken.tolist() == list(range(ROWS))[::-1]
    assert storage.keep(taken) is taken


def test_what_arrow_holds_is_not_copied():
    array = Column.from_arrow(pa.array(np.arange(ROWS))).values
    assert Storage().keep(array) is array


def test_a_row_does_not_hold_a_column():
    large = np.arange(ROWS)
    last = Storage().keep(large[-1:])
    gone = weakref.ref(large)
    del large
    assert last.tolist() == [ROWS - 1]
    assert gone() is None


def test_a_table_leaves_the_batch_it_was_made_of():
    schema = Schema((Field("x", pa.float64()),), unit=None)
    values = np.random.default_rng(0).random(ROWS)
    batch = Batch(schema, np.arange(ROWS), np.arange(ROWS) + 5, (Column(pa.float64(), values),))
    table = table_from_batches(schema, [batch], Storage())
    expected, gone = values.copy(), weakref.ref(values)
    del values, batch
    assert gone() is None
    assert np.array_equal(table["x"].to_numpy(), expected)
    assert np.array_equal(table["end"].to_numpy() - table["start"].to_numpy(), np.full(ROWS, 5))


def test_results_of_many_batches_are_right():
    rows = 400_000
    log = wb.from_arrow(pa.table({"at": np.arange(rows), "x": np.arange(rows) % 97}), time="at", name="log")
    out = log.where(col.x > 10).select("x", twice=col.x * 2).set_duration(7).collect()
    at = np.flatnonzero(np.arange(rows) % 97 > 10)
    assert np.array_equal(out["start"].to_numpy(), at)
    assert np.array_equal(out["end"].to_numpy(), at + 7)
    assert np.array_equal(out["twice"].to_numpy(), at % 97 * 2)


def test_an_answer_stays_as_it_is_while_others_are_made():
    at = np.arange(300_000)
    log = wb.from_arrow(pa.table({"at": at, "k": at % 7, "x": at}), time="at", name="log")

    def joined(first: int) -> pa.Table:
        left = log.where(col.x % 50 == first).set_duration(1_000).select("k", a=col.x)
        return left.join(log.select("k", b=col.x), on="k").select("k", "a", "b").collect()

    tables = [joined(first) for first in range(3)]
    del tables[1]
    tables += [joined(first) for first in range(3, 6)]
    for first, table in zip([0, 2, 3, 4, 5], tables, strict=True):
        a, b = table["a"].to_numpy(), table["b"].to_numpy()
        assert table["start"].to_numpy().tolist() == b.tolist()
        assert set((a % 50).tolist()) == {first}
        assert (table["k"].to_numpy() == a % 7).all()
        assert set(((b - a) % 7).tolist()) == {0}
        assert (b - a).min() >= 0
        assert (b - a).max() < 1_000
        assert np.array_equal(table["end"].to_numpy(), b + 1)


def test_rows_of_one_time_share_it_with_those_that_end_then():
    rows = [(0, ROWS), (0, ROWS // 2), (5, ROWS), (20, ROWS)]
    batches = [Batch(Schema((Field("x", pa.int64()),)), np.full(many, at), 5, (Column(pa.int64(), np.full(many, at)),))
               for at, many in rows]
    table = table_from_batches(batches[0].schema, batches, Storage())
    starts, ends = (table[name].chunks for name in ("start", "end"))
    assert [set(chunk.to_pylist()) for chunk in starts] == [{at} for at, _ in rows]
    assert [set(chunk.to_pylist()) for chunk in ends] == [{at + 5} for at, _ in rows]
    assert [len(chunk) for chunk in ends] == [many for _, many in rows]
    address = [[chunk.buffers()[1].address for chunk in chunks] for chunks in (starts, ends)]
    assert address[0][0] == address[0][1]
    assert address[1][0] == address[1][1] == address[0][2]
    assert len({*address[0], *address[1]}) == 5

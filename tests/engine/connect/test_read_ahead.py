"""Parts are made side by side and read one after the other."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from whimbrel.connect.files.read_ahead import read_ahead


def test_a_part_that_is_done_first_waits_for_those_before_it() -> None:
    second_done = threading.Event()

    def first() -> Generator[int]:
        assert second_done.wait(10)  # nobody makes the second meanwhile, if parts are made one after the other
        yield from (1, 2)

    def second() -> Generator[int]:
        yield from (3, 4)
        second_done.set()

    assert list(read_ahead(iter([first(), second()]))) == [1, 2, 3, 4]


def test_an_error_comes_in_its_turn() -> None:
    def part(number: int) -> Generator[int]:
        yield number
        if number == 2:
            raise OSError("a broken page")

    read: list[int] = []
    with pytest.raises(OSError, match="a broken page"):
        read.extend(read_ahead(part(number) for number in range(9)))
    assert read == [0, 1, 2]


def test_only_so_much_is_made_in_advance_and_closing_ends_it() -> None:
    made, closed = [], []

    def part(number: int) -> Generator[int]:
        try:
            for item in range(100):
                made.append(item)
                yield item
        finally:
            closed.append(number)

    before = threading.active_count()
    items = read_ahead((part(number) for number in range(50)), depth=2, threads=2)
    assert next(items) == 0
    items.close()
    assert threading.active_count() == before
    assert sorted(closed) in ([0], [0, 1])  # others were never begun
    assert len(made) <= 2 * (2 + 3)  # two in the queue, one in hand, those that were read


def test_no_part_is_nothing() -> None:
    assert list(read_ahead(iter(()))) == []

"""What follows when nobody sees a page, or a page sends nothing any more."""

from __future__ import annotations

import pytest

from whimbrel_workbench.sessions import Visibility


class Clock:
    now_s = 0.0
    executing = False

    def __call__(self) -> float:
        return self.now_s

    def busy(self) -> bool:
        return self.executing


@pytest.fixture(name="clock")
def _clock() -> Clock:
    return Clock()


@pytest.fixture(name="attention")
def _attention(clock: Clock) -> Visibility:
    return Visibility(clock.busy, clock)


def test_a_page_that_says_nothing_is_drawn_for(attention: Visibility, clock: Clock) -> None:
    clock.now_s = 1e6
    assert attention.verdict == "look"


@pytest.mark.parametrize(("sign", "after_s", "verdict"), [
    ("seen", 0, "look"), ("seen", 19, "look"), ("seen", 21, "wait"), ("seen", 601, "end"),
    ("away", 0, "rest"), ("away", 149, "rest"), ("away", 151, "wait"), ("away", 601, "end"),
    ("hidden", 0, "rest"), ("hidden", 11, "wait"), ("hidden", 601, "end"), ("gone", 0, "end"),
])
def test_what_follows_of_the_last_sign(attention: Visibility, clock: Clock, sign: str, after_s: float,
                                       verdict: str) -> None:
    attention.receive("here", sign)
    clock.now_s = after_s
    assert attention.verdict == verdict


def test_an_output_stays_hidden_though_it_says_so_again(attention: Visibility, clock: Clock) -> None:
    for clock.now_s in range(0, 60, 3):
        attention.receive("here", "hidden")
    assert attention.verdict == "wait"
    attention.receive("here", "seen")
    assert attention.verdict == "look"
    attention.receive("here", "hidden")
    assert attention.verdict == "rest"


def test_it_is_drawn_where_it_is_seen_at_one_place(attention: Visibility) -> None:
    attention.receive("left", "gone")
    attention.receive("right", "seen")
    assert attention.verdict == "look"
    attention.forget("right")
    assert attention.verdict == "end"
    attention.forget("left")
    assert attention.verdict == "look"


def test_a_busy_kernel_that_hears_nobody_calls_nobody_silent(attention: Visibility, clock: Clock) -> None:
    attention.receive("here", "seen")
    clock.executing = True
    clock.now_s = 1000
    assert attention.verdict == "look"
    clock.executing = False
    clock.now_s = 1019
    assert attention.verdict == "look"
    clock.now_s = 1021
    assert attention.verdict == "wait"


def test_short_cells_do_not_keep_a_silent_page_alive(attention: Visibility, clock: Clock) -> None:
    attention.receive("here", "seen")
    for second in range(30):
        clock.executing, clock.now_s = True, second + 0.01
        assert attention.verdict in ("look", "wait")
        clock.executing, clock.now_s = False, second + 0.95
        verdict = attention.verdict
    assert verdict == "wait"


def test_a_busy_kernel_that_hears_its_page_knows_when_it_is_silent(attention: Visibility, clock: Clock) -> None:
    clock.executing = True
    attention.receive("here", "seen")
    clock.now_s = 21
    assert attention.verdict == "wait"

"""Functions of users with a state over blocks of samples."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import signal

import whimbrel as wb
from whimbrel.errors import KernelError, PlanError, SchemaError
from whimbrel.testing import check_blocks

X = np.random.default_rng(2).normal(size=5_000)
LOG = wb.from_arrow({"at": range(5_000), "x": X, "s": ["a"] * 5_000}, time="at").assume(periodic=1)
B, A = signal.butter(2, 0.1)


def low_pass(block: Any, state: Any) -> tuple[dict[str, Any], Any]:
    out, state = signal.lfilter(B, A, block["x"], zi=state)
    return {"y": out}, state


def test_a_filter_of_scipy_runs_with_its_state() -> None:
    found = LOG.process(low_pass, state=np.zeros(2), gives={"y": "float64"}).collect()
    np.testing.assert_array_equal(found["y"].to_numpy(), signal.lfilter(B, A, X))
    check_blocks(lambda s: s.process(low_pass, state=np.zeros(2), gives={"y": "float64"}), {"x": X[:300]}, missing=[90])


def test_states_are_per_key_and_begin_again_after_gaps_and_nulls() -> None:
    def count(block: Any, state: Any) -> tuple[dict[str, Any], Any]:
        numbers = state["n"] + 1 + np.arange(len(block["x"]))
        return {"n": numbers}, {"n": int(numbers[-1])}
    rows = {"at": [0, 0, 1, 1, 2, 3, 4], "k": ["a", "b", "a", "b", "a", "a", "b"],
            "x": pa.array([1, 1, 1, 1, None, 1, 1])}
    log = wb.from_arrow(rows, time="at").assume(periodic=1, gaps=True, per="k")
    found = log.process(count, state={"n": 0}, gives={"n": int}, columns=["x"]).collect()
    assert found["n"].to_pylist() == [1, 1, 2, 2, None, 1, 1]


def gives(values: Any) -> Callable[[Any, Any], Any]:
    return lambda _, state: ({"y": values}, state)


@pytest.mark.parametrize(("step", "says"), [
    (gives(np.zeros(3)), "'y' must have the shape (5000,) of its block, got (3,)."),
    (gives(np.zeros(5_000, complex)), "'y' must be float32, got complex128."),
    (lambda block, state: ({"z": block["x"]}, state), "The function must give ['y'], got ['z']."),
    (lambda block, _: block["x"], "The function must give (block, state), got ndarray."),
    (lambda block, _: ({"y": block["x"]}, {1, 2}), "got a set."),
    (lambda block, _: ({"y": block["x"]}, np.zeros(2, complex)), "got an array of complex128."),
    (lambda _, __: 1 / 0, "ZeroDivisionError: division by zero, for a block of 5000 rows."),
    (lambda block, _: block["x"].sort(), "ValueError: sort array is read-only"),
])
def test_wrong_results_name_what_came_and_what_was_expected(step: Any, says: str) -> None:
    with pytest.raises(KernelError, match=re.escape(says)):
        LOG.process(step, state=None, gives={"y": "float32"}).collect()


@pytest.mark.parametrize(("mistake", "says"), [
    (lambda: LOG.process(3, state=0, gives={"y": float}), "step must be a function"),  # type: ignore[arg-type]
    (lambda: LOG.process(low_pass, state=0, gives={}), "gives must name at least one column"),
    (lambda: LOG.process(low_pass, state=0, gives={"y": "text"}), "The type of 'y' must be one of numbers, got"),
    (lambda: LOG.process(low_pass, state={1: 2}, gives={"y": float}), "got the key 1."),
    (lambda: LOG.process(low_pass, state=object(), gives={"y": float}), "got a object."),
])
def test_mistakes_are_reported(mistake: Callable[[], Any], says: str) -> None:
    with pytest.raises(PlanError, match=re.escape(says)):
        mistake()


def test_columns_must_be_numbers() -> None:
    with pytest.raises(SchemaError, match="process\\(\\) needs columns of numbers, got 's' of type string"):
        LOG.process(low_pass, state=0, gives={"y": float}, columns=["s"])


def test_check_blocks_finds_functions_that_depend_on_blocks() -> None:
    def centered(block: Any, state: Any) -> tuple[dict[str, Any], Any]:
        return {"y": block["x"] - block["x"].mean()}, state

    with pytest.raises(AssertionError, match="cut at"):
        check_blocks(lambda s: s.process(centered, state=None, gives={"y": float}), {"x": X[:100]})

"""The two forms of one text, and the cache that must never give back old code."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whimbrel
import whimbrel as wb
from whimbrel.kernels import Compiled, compile, load_text, tier, wait_for_compiler
from whimbrel.kernels.cache import source_file
from whimbrel.kernels.primitives.aggregation import multisets
from whimbrel.optimize import optimize
from whimbrel.run import Pipeline

TEXT = "def double(values, out):\n    for row in range(len(values)):\n        out[row] = 2 * values[row]\n"


def doubled(unit: Compiled) -> list[int]:
    out = np.zeros(3, np.int64)
    unit(np.arange(3), out)
    return out.tolist()


def test_interpreted_and_compiled_forms_agree_and_the_first_call_never_waits() -> None:
    unit = load_text(TEXT, "double", {})
    assert doubled(unit) == [0, 2, 4]  # interpreted: nothing is compiled yet
    with wait_for_compiler():
        assert doubled(unit) == [0, 2, 4]
    assert unit.ready(np.arange(3), np.zeros(3, np.int64))
    with tier("interpreted"):
        assert not unit.ready(np.arange(3), np.zeros(3, np.int64))
        assert doubled(unit) == [0, 2, 4]


def test_a_text_that_numba_refuses_says_so_when_waited_for() -> None:
    unit = load_text("def broken(values):\n    return open(values)\n", "broken", {})
    with pytest.raises(Exception, match="open"), tier("primitives"):
        unit(np.arange(3))


ASKING = """from whimbrel.kernels.primitives.hashing.prefetch import prefetch


def total(values):
    total = 0
    for row in range(values.shape[0]):
        prefetch(values, row + 10**9)
        prefetch(values, -10**9)
        total += values[row]
    return total
"""


def test_memory_outside_of_an_array_may_be_asked_for() -> None:
    unit = load_text(ASKING, "total", {})
    with wait_for_compiler():
        assert unit(np.arange(4)) == unit.interpreted(np.arange(4)) == 6


CALLING = """def leaf(x):
    return x

def one(x):
    return leaf(x), is_after

def two(x):
    return leaf(x)

def both(x):
    return one(x), two(x)

def other(x):
    return leaf(x), is_after
"""


def test_what_several_functions_call_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile, "_primitives", {})
    scope: dict[str, Any] = {"is_after": multisets.is_after}
    exec(CALLING, scope)
    both, other = (compile.jittable(scope[name], lambda **_: lambda clone: clone) for name in ("both", "other"))
    one, two, other = (of.__globals__ for of in (both.__globals__["one"], both.__globals__["two"], other))
    assert one["leaf"] is two["leaf"]
    assert one["leaf"] is not other["leaf"]  # what is in no module may be another by then
    assert one["is_after"] is other["is_after"]


def test_one_text_is_one_file_and_another_text_another(tmp_path: Path) -> None:
    assert source_file(TEXT, "double") == source_file(TEXT, "double")
    assert source_file(TEXT, "double") != source_file(TEXT + "\n", "double")


def engine_copy(folder: Path) -> Path:
    """The engine's files where a test may change them."""
    import shutil

    package = Path(whimbrel.__file__).parent
    shutil.copytree(package, folder / "whimbrel", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run(folder: Path, cache: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), "WHIMBREL_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


LOOKUP = """
    import numpy as np, whimbrel
    from whimbrel.kernels import IntegerKeys, tier
    assert whimbrel.__file__.startswith({folder!r}), whimbrel.__file__
    values = np.array([5, 7, 5]); values.flags.writeable = False
    with tier("primitives"):
        print(IntegerKeys().ids(values).tolist())
"""


@pytest.mark.long
def test_a_changed_primitive_never_runs_as_its_old_machine_code(tmp_path: Path) -> None:
    folder, cache = engine_copy(tmp_path / "engine"), tmp_path / "cache"
    code = LOOKUP.format(folder=str(folder))
    assert run(folder, cache, code) == "[0, 1, 0]"
    assert run(folder, cache, code) == "[0, 1, 0]"
    primitive = folder / "whimbrel" / "kernels" / "primitives" / "hashing" / "hash_table.py"
    stamp = primitive.stat()
    primitive.write_text(primitive.read_text().replace("ids[row] = found\n", "ids[row] = found + 1\n"))
    os.utime(primitive, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # not even the time of change gives it away
    assert run(folder, cache, code) == "[1, 2, 1]"


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    folder = Path(whimbrel.__file__).parents[1]
    assert run(folder, blocked, LOOKUP.format(folder=str(folder))) == "[0, 1, 0]"


@pytest.mark.share(3)
@pytest.mark.parametrize(("kind", "damage"), [("nbi", b"\0"), ("nbi", b"garbage"), ("nbc", b"garbage")])
def test_machine_code_that_is_damaged_is_compiled_again(tmp_path: Path, kind: str, damage: bytes) -> None:
    folder = Path(whimbrel.__file__).parents[1]
    code = LOOKUP.format(folder=str(folder))
    assert run(folder, tmp_path, code) == "[0, 1, 0]"
    files = list(tmp_path.rglob(f"*.{kind}"))
    assert files
    for file in files:
        file.write_bytes((damage * file.stat().st_size)[: file.stat().st_size])
    assert run(folder, tmp_path, code) == "[0, 1, 0]"


def test_numba_may_fail_once_as_when_a_thread_changes_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = [KeyError("PYTEST_CURRENT_TEST")]

    def compile_signature(self: Compiled, signature: tuple[Any, ...]) -> None:
        if failures:
            raise failures.pop()
        real(self, signature)

    real = Compiled._compile
    monkeypatch.setattr(Compiled, "_compile", compile_signature)
    unit = load_text(TEXT.replace("2 *", "3 *"), "double", {})
    with wait_for_compiler():
        assert doubled(unit) == [0, 3, 6]
    assert failures == []


def test_nobody_waits_longer_for_the_compiler_than_they_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile._compiler, "submit", lambda *_: None)  # one that never comes to it
    unit = load_text(TEXT.replace("double", "twice"), "twice", {})
    with wait_for_compiler(0.05):
        assert doubled(unit) == [0, 2, 4]
        assert not unit.ready(np.arange(3), np.zeros(3, np.int64))


def test_few_rows_do_not_wake_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    submit = compile._compiler.submit

    def asking(unit: Compiled, *more: Any) -> None:
        asked.append(unit.function.__name__)
        submit(unit, *more)

    monkeypatch.setattr(compile._compiler, "submit", asking)

    def total(rows: int) -> list[int]:
        log = wb.from_arrow({"at": range(rows), "x": range(rows)}, time="at")
        query = log.tumbling_window(rows).aggregate(x=wb.sum(wb.col.x // 47))  # a divisor stays in the text
        return query.collect()["x"].to_pylist()

    assert total(100) == [sum(x // 47 for x in range(100))]
    assert not asked
    assert total(3_000) == [sum(x // 47 for x in range(3_000))]
    assert "step" in asked


def test_rows_of_forks_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    request = Compiled._request

    def asking(unit: Compiled, signature: tuple[Any, ...]) -> threading.Event:
        asked.append(unit.function.__name__)
        return request(unit, signature)

    monkeypatch.setattr(Compiled, "_request", asking)
    log = wb.from_arrow({"at": range(900), "x": range(900)}, time="at")
    query = log.tumbling_window(100).aggregate(x=wb.sum(wb.col.x // 49))
    pipeline = Pipeline(optimize(query.node))
    (batch,) = (rows for rows in pipeline.sources[0].read(pipeline.sources[0].schema.names) if rows is not None)
    for _ in range(2):
        pipeline.fork([0]).push(0, batch)
        assert not asked
    pipeline.fork([0]).push(0, batch)
    assert "step" in asked


def test_what_is_waited_for_is_compiled_first() -> None:
    done: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    class Unit:
        def __init__(self, name: str) -> None:
            self.name = name

        def compile(self, signature: Any) -> None:
            begun.set()
            go_on.wait()
            done.append(self.name)

    compiler = compile._Compiler()
    events = {name: threading.Event() for name in "abc"}
    units = {name: Unit(name) for name in "abc"}
    compiler.submit(units["a"], (), events["a"], False)  # type: ignore[arg-type]
    begun.wait()
    for name, awaited in [("b", False), ("c", False), ("c", True)]:  # somebody comes to wait for the last
        compiler.submit(units[name], (), events[name], awaited)  # type: ignore[arg-type]
    go_on.set()
    assert all(event.wait(10) for event in events.values())
    assert done == ["a", "c", "b"]
    assert compiler.drain() == 3  # what was asked for twice is compiled once


def test_the_compiler_can_be_waited_for() -> None:
    before = compile.finish_compiling()
    unit = load_text(TEXT.replace("double", "waited_for"), "waited_for", {})
    assert doubled(unit) == [0, 2, 4]  # interpreted, and asked for
    assert compile.finish_compiling() == before + 1
    assert unit.ready(np.arange(3), np.zeros(3, np.int64))


def test_processes_that_start_together_share_a_cold_cache(tmp_path: Path) -> None:
    folder = Path(whimbrel.__file__).parents[1]
    environment = {**os.environ, "WHIMBREL_CACHE": str(tmp_path)}
    code = textwrap.dedent(LOOKUP.format(folder=str(folder)))
    together = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate()[0].strip() for process in together] == ["[0, 1, 0]"] * 3


ENDING = """
import threading, time
from whimbrel.kernels import Compiled

begun = threading.Event()

class Slow(Compiled):
    def compile(self, signature):
        begun.set()
        print("begun", flush=True)
        time.sleep(0.3)
        print("ended", flush=True)

for number in range(3):
    Slow(lambda x: x, "").ready(number)
begun.wait()
"""


def test_a_process_that_exits_lets_the_compiler_finish_what_it_has_begun() -> None:
    """LLVM ran into an assertion now and then when the process freed what the thread was using."""
    ran = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.split() == ["begun", "ended"]
    assert ran.stderr == ""

"""Run generated code interpreted at first, then compiled."""

from __future__ import annotations

import atexit
import builtins
import contextlib
import functools
import inspect
import itertools
import math
import os
import queue
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Literal

import numpy as np

from whimbrel.kernels.cache import source_file
from whimbrel.kernels.intrinsics import instruction

Tier = Literal["interpreted", "primitives", "fused"]

Watcher = Callable[[str, float, bool], None]
"""Called after each call with the function's name, its seconds, and whether it waited for the compiler."""

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_forced: Tier | None = "interpreted" if os.environ.get("WHIMBREL_JIT") == "0" else None
_patient_until: ContextVar[float] = ContextVar("patient_until", default=-math.inf)
"""Until when, on the clock of ``time.perf_counter``, callers wait for the compiler."""
_thrifty: ContextVar[bool] = ContextVar("thrifty", default=False)
_AS_USUAL = contextlib.nullcontext()


def forced_tier() -> Tier | None:
    """The tier everything must run on, or None to start at once and change over when the compiler is done."""
    return _forced


@contextlib.contextmanager
def tier(name: Tier) -> Iterator[None]:
    """Run everything on one tier: for tests, profiles and readable tracebacks.

    ``"interpreted"`` never compiles (as ``WHIMBREL_JIT=0`` does), ``"primitives"`` waits for compiled primitives and
    never fuses, ``"fused"`` waits for the fused kernel.
    """
    global _forced
    before, _forced = _forced, name
    try:
        yield
    finally:
        _forced = before


def finish_compiling() -> int:
    """Wait until nothing is left to compile; how many functions this process has compiled or loaded so far."""
    return _compiler.drain()


@contextlib.contextmanager
def wait_for_compiler(max_s: float = math.inf) -> Iterator[None]:
    """Wait for the compiler rather than start interpreted, so many seconds in all: right when only the end matters."""
    token = _patient_until.set(time.perf_counter() + max_s)
    try:
        yield
    finally:
        _patient_until.reset(token)


class CompilePolicy:
    """Ask for nothing to be compiled before so many rows were seen: fewer are done sooner than their compiler would be.

    Parameters
    ----------
    rows : int
        How many rows are run on what is compiled already, and interpreted elsewhere.

    Examples
    --------
    >>> thrift = CompilePolicy(rows=1_000)
    >>> with thrift.of(900):
    ...     pass  # kernels called in here ask for nothing
    >>> with thrift.of(900):
    ...     pass  # 1,800 rows by now: these ask for what they miss
    """

    def __init__(self, rows: int) -> None:
        self._left = rows

    def of(self, rows: int) -> AbstractContextManager[None]:
        """Around the work on further rows."""
        self._left -= rows
        return _thriftily() if self._left > 0 else _AS_USUAL


@contextlib.contextmanager
def _thriftily() -> Iterator[None]:
    token = _thrifty.set(True)
    try:
        yield
    finally:
        _thrifty.reset(token)


@contextlib.contextmanager
def watched(by: Watcher) -> Iterator[None]:
    """Tell somebody of each call of compiled functions, and of each wait for the compiler: for profiles."""
    token = _watcher.set(by)
    try:
        yield
    finally:
        _watcher.reset(token)


class Compiled:
    """A function that is called like any other and gets fast by itself.

    Until its compiled form for the given argument types is ready it runs interpreted; compiling happens on a
    background thread. Arguments are one-dimensional contiguous arrays and plain Python scalars.

    Parameters
    ----------
    function : callable
        Plain Python within numba's nopython subset; globals it calls may be plain Python functions too.
    text : str, optional
        Source of the whole module it stands in; found by itself for handwritten code.
    foreign : bool
        Whether it calls functions that the text cannot import. Then no machine code is kept for later processes (those
        functions may be others by then), and if the compiler refuses it stays interpreted.
    """

    def __init__(self, function: Callable[..., Any], text: str | None = None, *, foreign: bool = False) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self._text = text
        self.foreign = foreign
        self._lock = threading.Lock()
        self._dispatcher: Any = None
        self._ready: dict[tuple[Any, ...], threading.Event] = {}
        self._done: set[tuple[Any, ...]] = set()
        self._failure: BaseException | None = None

    @property
    def text(self) -> str:
        """The source of the module it stands in."""
        return self._text or inspect.getsource(sys.modules[self.function.__module__])

    def __call__(self, *arguments: Any) -> Any:
        if _forced is None and _signature(arguments) in self._done and _watcher.get() is None:
            return self._dispatcher(*arguments)  # nothing is left to be asked: so is almost every call
        return self.best(*arguments)(*arguments)

    def best(self, *arguments: Any) -> Callable[..., Any]:
        """The fastest form for such arguments that can be called now."""
        found = self._dispatcher if self.ready(*arguments) else self.interpreted
        watcher = _watcher.get()
        return found if watcher is None else _timed(found, self.function.__name__, watcher)

    def interpreted(self, *arguments: Any) -> Any:
        """Run the text as plain Python."""
        # As in machine code: hashing wraps, floats become inf and nan, and a user's division by zero is an error.
        with np.errstate(all="ignore", divide="raise" if self.foreign else "ignore"):
            return self.function(*arguments)

    def ready(self, *arguments: Any) -> bool:
        """Whether the compiled form for such arguments can be used now; if not, ask for it (and wait, when patient)."""
        forced = forced_tier()
        if forced == "interpreted":
            return False
        signature = _signature(arguments)
        event = self._ready.get(signature)
        if event is None:
            if _thrifty.get() and not forced:
                return False
            event = self._request(signature)
        if not event.is_set() and (max_s := math.inf if forced else _patient_until.get() - time.perf_counter()) > 0:
            _compiler.submit(self, signature, event, True)
            began = time.perf_counter()
            event.wait(min(max_s, threading.TIMEOUT_MAX))
            if (watcher := _watcher.get()) is not None:
                watcher(self.function.__name__, time.perf_counter() - began, True)
        if self._failure is not None and self.foreign:
            return False
        if self._failure is not None:
            raise self._failure
        return event.is_set()

    def _request(self, signature: tuple[Any, ...]) -> threading.Event:
        with self._lock:
            event = self._ready.get(signature)
            if event is None:
                event = self._ready[signature] = threading.Event()
                _compiler.submit(self, signature, event, False)
        return event

    def compile(self, signature: tuple[Any, ...]) -> None:
        """Compile for arguments of these kinds, or load machine code that an earlier process left."""
        try:
            try:
                self._compile(signature)
            except Exception:
                if self.foreign:
                    raise
                self._forget()  # it may be damaged, or numba read an environment that a thread changed
                self._compile(signature)
        except BaseException as error:
            self._failure = error
            self._done.clear()
            raise
        if self._failure is None:
            self._done.add(signature)

    def _compile(self, signature: tuple[Any, ...]) -> None:
        import numba

        if self._dispatcher is None:
            function = self.function if self.foreign else self._load()
            made = jittable(function, numba.njit)
            self._dispatcher = numba.njit(nogil=True, no_cfunc_wrapper=True, cache=not self.foreign)(made)
        self._dispatcher.compile(tuple(_numba_type(kind, numba) for kind in signature))

    def _forget(self) -> None:
        """Remove the machine code that earlier processes left."""
        path = source_file(self.text, self.function.__name__)
        for file in (path.parent / "__pycache__").glob(f"{path.stem}*.nb?"):
            file.unlink(missing_ok=True)
        self._dispatcher = None

    def _load(self) -> Callable[..., Any]:
        """The function once more, from the content-addressed file under which machine code is kept."""
        text, name = self.text, self.function.__name__
        path = source_file(text, name)
        module = types.ModuleType(path.stem)
        module.__file__ = str(path)
        sys.modules[path.stem] = module  # numba asks for the module by name when it reloads machine code
        exec(builtins.compile(text, str(path), "exec"), module.__dict__)
        function: Callable[..., Any] = module.__dict__[name]
        return function


def _timed(function: Callable[..., Any], name: str, watcher: Watcher) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        began = time.perf_counter()
        try:
            return function(*arguments)
        finally:
            watcher(name, time.perf_counter() - began, False)

    return call


def load_text(text: str, name: str, functions: dict[str, Callable[..., Any]]) -> Compiled:
    """Make a function of generated source text; the same text is the same function, compiled once a process.

    Parameters
    ----------
    text : str
        A module that defines `name`; it imports what it calls.
    functions : dict
        Further globals by name (a user's own functions), which the text cannot import.
    """
    given = tuple(functions.items())
    try:
        return _known_unit(text, name, given, tuple(captured(function) for function in functions.values()))
    except TypeError:  # a function holds something that cannot be compared: it may be another by now
        return _unit(text, name, functions)


@functools.lru_cache(maxsize=512)
def _known_unit(text: str, name: str, functions: tuple[tuple[str, Callable[..., Any]], ...],
                captured: tuple[Any, ...]) -> Compiled:
    return _unit(text, name, dict(functions))


def captured(function: Any, inside: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """What a function reads besides its arguments: compiled code keeps these values as they were."""
    if not isinstance(function, types.FunctionType) or function in inside or hasattr(function, "compiled_form"):
        return (function,)  # what has a form of its own was made for what it reads
    scope = function.__globals__
    held = [scope[name] for name in function.__code__.co_names if name in scope]
    held += [cell.cell_contents for cell in function.__closure__ or ()]
    inside = (*inside, function)
    return (function, function.__code__,
            *(part for value in held for part in (type(value), *captured(value, inside))))


def _unit(text: str, name: str, functions: dict[str, Callable[..., Any]]) -> Compiled:
    namespace: dict[str, Any] = {"__name__": "whimbrel_generated", **functions}
    exec(builtins.compile(text, str(source_file(text, name)), "exec"), namespace)
    return Compiled(namespace[name], text, foreign=bool(functions))


def refusal(function: Callable[..., Any], *arguments: Any) -> str | None:
    """Why a user's function cannot be compiled for such arguments, in one line; None if it can."""
    import numba

    try:
        compiled = numba.njit(nogil=True)(jittable(function, numba.njit))
        compiled.compile(tuple(numba.typeof(argument) for argument in arguments))
    except Exception as error:  # noqa: BLE001 - whatever the compiler dislikes is a reason
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        messages = (line for line in lines if not line.startswith(("Failed in", "During", "File")))
        return next(messages, type(error).__name__).rstrip(":")
    return None


def jittable(function: Callable[..., Any], njit: Callable[..., Any], inside: tuple[Any, ...] = (),
              made: dict[Any, Any] | None = None) -> Callable[..., Any]:
    """The function with every plain Python function it calls replaced by that function's compiled form.

    What two functions call is made once: the leaves of a tree of calls are not compiled once for each way to them. And
    what is a module's in this project is made once a process, for all that call it.
    """
    if not isinstance(function, types.FunctionType):
        raise TypeError(f"{function!r} is not a plain Python function")
    made = {} if made is None else made

    def compiled(called: Any) -> Any:
        if not isinstance(called, types.FunctionType) or called in (*inside, function):
            return called
        if (form := getattr(called, "compiled_form", None)) is not None:
            return form.dispatcher
        kept = _primitives if _is_primitive(called) else made
        if called not in kept:
            kept[called] = instruction(called) or njit(nogil=True, **_INNER)(
                jittable(called, njit, (*inside, function), made))
        return kept[called]

    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        if name in scope:
            scope[name] = compiled(scope[name])
    closure = tuple(types.CellType(compiled(cell.cell_contents)) for cell in function.__closure__ or ())
    clone = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, closure or None)
    clone.__module__ = function.__module__
    clone.__qualname__ = function.__qualname__
    return clone


_INNER = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Called by machine code only: no way in from Python is compiled."""

_primitives: dict[Callable[..., Any], Any] = {}
"""Compiled forms of functions that never change while a process runs."""


def _is_primitive(function: types.FunctionType) -> bool:
    """Whether it is what its own module in this project calls by that name, and holds nothing of anybody else's."""
    module = function.__module__ or ""
    return (module.startswith("whimbrel.") and function.__closure__ is None
            and getattr(sys.modules.get(module), function.__name__, None) is function)


def _signature(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What machine code depends on, for each argument.

    Every call asks: a letter is quicker than a name, and a loop in place than a function for each argument.
    """
    array = np.ndarray
    return tuple([(each.dtype.char, each.flags.writeable) if type(each) is array else type(each)
                  for each in arguments])


def _numba_type(kind: Any, numba: Any) -> Any:
    if isinstance(kind, tuple):
        dtype, writeable = kind
        return numba.types.Array(numba.from_dtype(np.dtype(dtype)), 1, "C", readonly=not writeable)
    return {int: numba.int64, float: numba.float64, bool: numba.boolean}[kind]


class _Compiler:
    """One background thread that compiles what was asked for: first what somebody waits for, then in order."""

    def __init__(self) -> None:
        self._work: queue.PriorityQueue[tuple[bool, int, Compiled, tuple[Any, ...], threading.Event]]
        self._work = queue.PriorityQueue()
        self._asked = itertools.count()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._ending = False
        self.compiled = 0
        atexit.register(self.end)

    def submit(self, unit: Compiled, signature: tuple[Any, ...], done: threading.Event, awaited: bool) -> None:
        self._work.put((not awaited, next(self._asked), unit, signature, done))
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="whimbrel-compiler", daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        while not self._ending:
            _, _, unit, signature, done = self._work.get()
            if not done.is_set():  # else asked for once more by somebody who waited
                with contextlib.suppress(Exception):  # kept by the unit and raised where it is called
                    unit.compile(signature)
                self.compiled += 1
                done.set()
            self._work.task_done()

    def end(self) -> None:
        """Let the thread finish what it compiles, and nothing else.

        LLVM frees its global state when the process exits. A thread that is inside LLVM then runs into an assertion.
        """
        thread = self._thread
        if thread is None or not thread.is_alive():
            return
        self._ending = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._work.get_nowait()
                self._work.task_done()
        nothing = threading.Event()
        nothing.set()
        self._work.put((False, next(self._asked), _NOTHING, (), nothing))  # wakes a thread that waits for work
        thread.join()
        self._ending = False  # who still asks gets another thread

    def drain(self) -> int:
        self._work.join()
        return self.compiled


_NOTHING = Compiled(lambda: None)
_compiler = _Compiler()

"""Two forms of one text: interpreted at once, compiled when the compiler is done. The only file that imports numba."""

from __future__ import annotations

import builtins
import contextlib
import functools
import inspect
import os
import queue
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Literal

import numpy as np

from whimbrel.kernels.cache import source_file

Tier = Literal["interpreted", "primitives", "fused"]

_forced: Tier | None = "interpreted" if os.environ.get("WHIMBREL_JIT") == "0" else None
_patient: ContextVar[bool] = ContextVar("patient", default=False)


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


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """Wait for the compiler rather than start interpreted: right when only the end result matters."""
    token = _patient.set(True)
    try:
        yield
    finally:
        _patient.reset(token)


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
    """

    def __init__(self, function: Callable[..., Any], text: str | None = None) -> None:
        self.function = function
        self.__doc__ = function.__doc__
        self._text = text
        self._lock = threading.Lock()
        self._dispatcher: Any = None
        self._ready: dict[tuple[Any, ...], threading.Event] = {}
        self._failure: BaseException | None = None

    def __call__(self, *arguments: Any) -> Any:
        return self.best(*arguments)(*arguments)

    def best(self, *arguments: Any) -> Callable[..., Any]:
        """The fastest form for such arguments that can be called now."""
        return self._dispatcher if self.ready(*arguments) else self.interpreted

    def interpreted(self, *arguments: Any) -> Any:
        """Run the text as plain Python."""
        with np.errstate(all="ignore"):  # as in machine code: hashing wraps, floats become inf and nan
            return self.function(*arguments)

    def ready(self, *arguments: Any) -> bool:
        """Whether the compiled form for such arguments can be used now; if not, ask for it (and wait, when patient)."""
        forced = forced_tier()
        if forced == "interpreted":
            return False
        signature = tuple(map(_kind, arguments))
        event = self._ready.get(signature)
        if event is None:
            event = self._request(signature)
        if forced or _patient.get():
            event.wait()
        if self._failure is not None:
            raise self._failure
        return event.is_set()

    def _request(self, signature: tuple[Any, ...]) -> threading.Event:
        with self._lock:
            event = self._ready.get(signature)
            if event is None:
                event = self._ready[signature] = threading.Event()
                _compiler.submit(self, signature, event)
        return event

    def compile(self, signature: tuple[Any, ...]) -> None:
        """Compile for arguments of these kinds, or load machine code that an earlier process left."""
        import numba

        try:
            if self._dispatcher is None:
                self._dispatcher = numba.njit(nogil=True, cache=True)(_jittable(self._load(), numba.njit))
            self._dispatcher.compile(tuple(_numba_type(kind, numba) for kind in signature))
        except BaseException as error:
            self._failure = error
            raise

    def _load(self) -> Callable[..., Any]:
        """The function once more, from the content-addressed file under which machine code is kept."""
        text = self._text or inspect.getsource(sys.modules[self.function.__module__])
        name = self.function.__name__
        path = source_file(text, name)
        module = types.ModuleType(path.stem)
        module.__file__ = str(path)
        sys.modules[path.stem] = module  # numba asks for the module by name when it reloads machine code
        exec(builtins.compile(text, str(path), "exec"), module.__dict__)
        function: Callable[..., Any] = module.__dict__[name]
        return function


def load_text(text: str, name: str, functions: dict[str, Callable[..., Any]]) -> Compiled:
    """Make a function of generated source text; the same text is the same function, compiled once a process.

    Parameters
    ----------
    text : str
        A module that defines `name`; it imports what it calls.
    functions : dict
        Further globals by name (a user's own functions), which the text cannot import.
    """
    return _unit(text, name, functions) if functions else _known_unit(text, name)


@functools.lru_cache(maxsize=512)
def _known_unit(text: str, name: str) -> Compiled:
    return _unit(text, name, {})


def _unit(text: str, name: str, functions: dict[str, Callable[..., Any]]) -> Compiled:
    namespace: dict[str, Any] = {"__name__": "whimbrel_generated", **functions}
    exec(builtins.compile(text, str(source_file(text, name)), "exec"), namespace)
    return Compiled(namespace[name], text)


def _jittable(function: Callable[..., Any], njit: Callable[..., Any]) -> Callable[..., Any]:
    """The function with every plain Python function it calls replaced by that function's compiled form."""
    assert isinstance(function, types.FunctionType)
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        called = scope.get(name)
        if isinstance(called, types.FunctionType):
            scope[name] = njit(nogil=True)(_jittable(called, njit))
    twin = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    twin.__module__ = function.__module__
    twin.__qualname__ = function.__qualname__
    return twin


def _kind(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.dtype.str, argument.flags.writeable
    return type(argument)


def _numba_type(kind: Any, numba: Any) -> Any:
    if isinstance(kind, tuple):
        dtype, writeable = kind
        return numba.types.Array(numba.from_dtype(np.dtype(dtype)), 1, "C", readonly=not writeable)
    return {int: numba.int64, float: numba.float64, bool: numba.boolean}[kind]


class _Compiler:
    """One background thread that compiles what was asked for, in order."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[tuple[Compiled, tuple[Any, ...], threading.Event]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def submit(self, unit: Compiled, signature: tuple[Any, ...], done: threading.Event) -> None:
        self._work.put((unit, signature, done))
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="whimbrel-compiler", daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        while True:
            unit, signature, done = self._work.get()
            with contextlib.suppress(Exception):  # kept by the unit and raised where it is called
                unit.compile(signature)
            done.set()


_compiler = _Compiler()

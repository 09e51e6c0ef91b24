"""Run a user's function with a state over blocks of samples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from whimbrel.batch import Batch, Column, Field, Mask, Schema, frozen
from whimbrel.clock import MIN_TIME
from whimbrel.errors import KernelError, PlanError, SchemaError
from whimbrel.expr import Col, Keys
from whimbrel.kernels import Kernel, KeyTable, SampleRuns
from whimbrel.operators.aggregation.running_values import either
from whimbrel.operators.signals.detect_ranges import signal_keys
from whimbrel.operators.signals.sample_values import groups_of
from whimbrel.plan import KnownInput, LineageRequest, Operator, Properties, Sampling, fluent
from whimbrel.plan.typed_aggregate import NO_MASK

__all__ = ["Step"]

Array = np.ndarray[Any, Any]

Block = Mapping[str, Array]
"""Arrays of one length, by the names of columns."""

Step = Callable[[Block, Any], tuple[Block, Any]]
"""Takes a block and the state; answers with a block and the next state."""

_STATES = "arrays, numbers, strings, None, and lists, tuples and dicts of these"


@dataclass(frozen=True, kw_only=True, eq=False)
class ProcessBlocks(Operator):
    """Run a user's function with a state over blocks of samples.

    The function gets the columns of consecutive rows as arrays, and the state that it gave before.

        time     0    5    10   15   20
        in       1────2────3─────────4─      (period 5: nothing at 15)
        out      1────3────6─────────4─      (a running sum)

    The state begins again after a missing sample, and after a row with a null. Such a row has null results.

    Parameters
    ----------
    step : callable
        ``step(block, state)`` answers ``(block, state)``. Blocks are dicts of arrays, read-only on the way in.
    state : object
        The state at first: arrays, numbers, strings, None, and lists, tuples and dicts of these.
    gives : tuple of (str, pyarrow.DataType)
        The columns that the function gives.
    columns : tuple of str
        The columns that it gets.
    keys : tuple of str
        Columns whose values have states of their own. A row without a key has null results.
    sampling : Sampling, optional
        The samples of the input. None: no sample is missing.

    Notes
    -----
    Blocks have any length: the function must give the same results for any cutting. ``testing.check_blocks`` checks
    that. The function runs once for each batch, key and run of samples. Shapes: one row out per row in, at once. State:
    that of the function, for each key. Source: XStream (ICDE 2008), section 3 (``iterate``).

    Examples
    --------
    >>> import numpy as np
    >>> import whimbrel as wb
    >>> def running_sum(block, total):
    ...     sums = total + np.cumsum(block["x"])
    ...     return {"sum": sums}, sums[-1]
    >>> log = wb.from_arrow({"at": [0, 5, 10, 20], "x": [1, 2, 3, 4]}, time="at").assume(periodic=5, gaps=True)
    >>> log.process(running_sum, state=0, gives={"sum": "int64"}).collect()["sum"].to_pylist()
    [1, 3, 6, 4]
    """

    step: Step
    state: Any
    gives: tuple[tuple[str, pa.DataType], ...]
    columns: tuple[str, ...]
    keys: tuple[str, ...] = ()
    sampling: Sampling | None = None

    def schema(self, *upstream: Schema) -> Schema:
        for name in self.columns:
            type_ = upstream[0].type_of(name)
            if not (pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_)):
                raise SchemaError(f"process() needs columns of numbers, got {name!r} of type {type_}.",
                                  where=self.show(), hint="Name the columns of numbers in columns=.")
        added = [Field(name, type_) for name, type_ in self.gives]
        kept = [field for field in upstream[0] if field.name not in dict(self.gives)]
        return upstream[0].with_fields((*kept, *added), where=self.show())

    def properties(self, *upstream: Properties) -> Properties:
        return replace(upstream[0], packed=True)

    def requires(self, wanted: frozenset[str], *upstream: Schema) -> tuple[frozenset[str], ...]:
        return ((wanted - dict(self.gives).keys()).union(self.keys, self.columns),)

    def partitioned(self, *by: str) -> str | None:
        return by[0] if by[0] in self.keys and by[0] not in dict(self.gives) else None

    def lineage(self, wanted: LineageRequest, *inputs: KnownInput) -> tuple[LineageRequest, ...]:
        rows = wanted.only(self.keys)
        return (rows.starts(MIN_TIME, wanted.end) if wanted.starting else rows.during(MIN_TIME, wanted.end,
                                                                                    wanted.exact),)

    def kernel(self, *upstream: Schema) -> Kernel:
        return ProcessKernel(self, self.schema(*upstream), upstream[0])

    def show(self) -> str:
        keys = f"group_by({', '.join(self.keys)})." if self.keys else ""
        name = getattr(self.step, "__name__", type(self.step).__name__)
        return f"{keys}process({name}, gives={[name for name, _ in self.gives]})"


@fluent
def process(schema: Schema, step: Step, *, state: Any, gives: Mapping[str, Any], columns: Sequence[str] = (),
            keys: Keys = (), known: Properties = Properties()) -> ProcessBlocks:  # noqa: B008 - immutable
    """Run a function with a state over blocks of samples. See :class:`whimbrel.operators.ProcessBlocks`.

    Parameters
    ----------
    step : callable
        ``step(block, state)`` answers ``(block, state)``, with any NumPy code. A block is a dict of arrays.
    state : object
        The state at first: arrays, numbers, strings, None, and lists, tuples and dicts of these.
    gives : dict of str to type
        Names and types of the columns that the function gives.
    columns : sequence of str
        The columns that it gets. The default is all columns of numbers.
    """
    where = "process()"
    if not callable(step):
        raise PlanError(f"step must be a function of a block and a state, got {step!r}.", where=where,
                        hint="Use a function such as def step(block, state).")
    if not gives:
        raise PlanError("gives must name at least one column, got none.", where=where,
                        hint='Use gives={"y": "float64"}.')
    types = tuple((name, _type(name, given)) for name, given in gives.items())
    signals = signal_keys(keys, known)
    for name, expr in signals:
        if not (isinstance(expr, Col) and expr.name in schema):
            raise PlanError(f"process() needs a key that is a column, got {name}={expr.show()}.", where=where,
                            hint="Add the key with with_columns(...) first.")
    names = tuple(expr.name for _, expr in signals if isinstance(expr, Col))
    for name in columns:
        schema.index(name, where=where)
    numbers = tuple(field.name for field in schema if field.name not in names and (
        pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_boolean(field.type)))
    if wrong := wrong_state(state):
        raise PlanError(f"state must be made of {_STATES}, got {wrong}.", where=where,
                        hint="Use an array, such as state=np.zeros(4).")
    return ProcessBlocks(step=step, state=state, gives=types, columns=tuple(columns) or numbers, keys=names,
                         sampling=known.sampling)


def _type(name: str, given: Any) -> pa.DataType:
    try:
        found = given if isinstance(given, pa.DataType) else pa.from_numpy_dtype(np.dtype(given))
    except (TypeError, pa.ArrowNotImplementedError):
        found = pa.null()
    if not (pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_boolean(found)):
        raise PlanError(f"The type of {name!r} must be one of numbers, got {given!r}.", where="process(gives=...)",
                        hint='Use a type such as "float32".')
    return found


def wrong_state(state: Any) -> str:
    """What of a state cannot be saved in a checkpoint; empty: nothing."""
    if isinstance(state, dict):
        wrong = next((f"the key {key!r}" for key in state if not isinstance(key, str)), "")
        return wrong or next(filter(None, map(wrong_state, state.values())), "")
    if isinstance(state, list | tuple):
        return next(filter(None, map(wrong_state, state)), "")
    if isinstance(state, np.ndarray | np.generic):
        return "" if state.dtype.kind in "biuf" else f"an array of {state.dtype}"
    return "" if state is None or isinstance(state, bool | int | float | str) else f"a {type(state).__name__}"


class ProcessKernel(Kernel):
    """Calls the function for each run of rows of a key.

    Attributes
    ----------
    states : list
        For each key its state, in a list of one; empty where it begins again.
    """

    def __init__(self, op: ProcessBlocks, out_schema: Schema, schema: Schema) -> None:
        self.op, self.out_schema = op, out_schema
        self.keys = KeyTable([schema.type_of(name) for name in op.keys])
        period, phase = (None, None) if op.sampling is None else (op.sampling.period, op.sampling.phase)
        self.runs = SampleRuns(period, phase, keyed=bool(op.keys))
        self.states: list[list[Any]] = []

    def push(self, batch: Batch, port: int = 0) -> list[Batch]:
        batch = batch.compact()
        if not len(batch):
            return []
        groups, hidden = groups_of(self.keys, [batch.column(name) for name in self.op.keys], len(batch))
        count = max(1, len(self.keys))
        self.runs.grow(count)
        self.states += [[] for _ in range(count - len(self.states))]
        inputs = {name: batch.column(name) for name in self.op.columns}
        null = NO_MASK
        for column in inputs.values():
            if column.valid is not None:
                null = either(null, frozen(~column.valid))
        fresh = self.runs.mark(batch.times, groups, hidden, null).fresh
        out = {name: np.zeros(len(batch), type_.to_pandas_dtype()) for name, type_ in self.op.gives}
        arrays = {name: np.asarray(column.values) for name, column in inputs.items()}
        for key, rows in _blocks(groups, either(hidden, null), fresh, sort=bool(self.op.keys)):
            if len(fresh) and fresh[rows[0]]:
                self.states[key] = []
            self._call(key, {name: frozen(array[rows]) for name, array in arrays.items()}, rows, out)
        valid: Mask | None = None if not len(hidden) and not len(null) else ~either(hidden, null)
        columns = [batch.column(field.name) if field.name not in out else Column(field.type, out[field.name], valid)
                   for field in self.out_schema]
        return [batch.having(schema=self.out_schema, columns=tuple(columns))]

    def advance(self, watermark: int, port: int = 0) -> list[Batch]:
        self.watermark = watermark
        return []

    def _call(self, key: int, block: Block, rows: Array, out: dict[str, Array]) -> None:
        """Call the function with the rows of one run, and write what it gives."""
        where, known = self.op.show(), self.states[key]
        try:
            answer = self.op.step(block, known[0] if known else copy.deepcopy(self.op.state))
        except Exception as error:
            said = next(iter(str(error).splitlines()), "")
            raise KernelError(f"{type(error).__name__}: {said}, for a block of {len(rows)} rows.",
                              where=where) from error
        if not (isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], Mapping)):
            raise KernelError(f"The function must give (block, state), got {type(answer).__name__}.", where=where,
                              hint="Return a dict of arrays, and the next state.")
        given, state = answer
        if given.keys() != out.keys():
            raise KernelError(f"The function must give {sorted(out)}, got {sorted(map(str, given))}.", where=where,
                              hint="Give the names of gives=.")
        for name, target in out.items():
            values = np.asarray(given[name])
            if values.shape != (len(rows),):
                raise KernelError(f"{name!r} must have the shape ({len(rows)},) of its block, got {values.shape}.",
                                  where=where, hint="Give one value for each row.")
            if not np.can_cast(values.dtype, target.dtype, "same_kind"):
                raise KernelError(f"{name!r} must be {target.dtype}, got {values.dtype}.", where=where,
                                  hint="Convert it with astype(), or change gives=.")
            target[rows] = values
        if wrong := wrong_state(state):
            raise KernelError(f"The state must be made of {_STATES}, got {wrong}.", where=where,
                              hint="Keep what is fixed outside of the state.")
        self.states[key] = [state]


def _blocks(groups: Array, skip: Mask, fresh: Mask, *, sort: bool) -> list[tuple[int, Array]]:
    """The rows of each run, key by key."""
    rows = np.flatnonzero(~skip) if len(skip) else np.arange(len(groups))
    if not len(rows):
        return []
    if sort:
        rows = rows[np.argsort(groups[rows], kind="stable")]
    begins = np.zeros(len(rows), np.bool_)
    begins[1:] = groups[rows[1:]] != groups[rows[:-1]]
    if len(fresh):
        begins[1:] |= fresh[rows[1:]]
    return [(int(groups[part[0]]), part) for part in np.split(rows, np.flatnonzero(begins))]

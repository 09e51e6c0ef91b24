"""Generate the fused loop of grouped aggregation over tumbling windows.

Filter, group lookup, window and every aggregate of one query in one pass over the raw columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from whimbrel.batch import Batch
from whimbrel.expr import SCALARS, Col, Expr, LiteralArguments, can_fail, predicate_source, to_source
from whimbrel.kernels import Compiled, load_text
from whimbrel.kernels.source_text import comment, without_comments
from whimbrel.operators.aggregation.scalar_accumulator import ScalarAccumulator
from whimbrel.plan import AggregateFunctions, AggregatePhase
from whimbrel.plan.aggregate_source import SHOW, Functions, bind_steps, into, literals, outputs, stored, tuple_of
from whimbrel.plan.typed_aggregate import state_names

Leaf = tuple[Expr, bool, tuple[Expr, ...]]
"""What is read, whether its validity is, and conditions: where they do not hold it is not looked at."""


@dataclass(frozen=True)
class PaneText:
    """A generated loop and what it is called with.

    Attributes
    ----------
    text : str
    step : Compiled
    leaves : tuple of Leaf
        Columns it reads in addition to time and group.
    numbers : tuple of int or float
        The numbers in its expressions, which are arguments: queries that differ in them share the compiled loop.
    inline_key : Expr or None
        The single integer key that it looks up by itself; None when it is given group ids.
    timed : bool
        Whether it is given the starts of the rows as they were before windows.
    alone : bool
        Whether all rows are one group, so that no group ids are read.
    """

    text: str
    step: Compiled
    leaves: tuple[Leaf, ...]
    numbers: tuple[int | float, ...]
    inline_key: Expr | None
    timed: bool
    alone: bool


@dataclass
class Leaves:
    """Gives each column that an expression reads a parameter of the loop."""

    batch: Batch
    positions: dict[Any, int] = field(default_factory=dict)
    leaves: list[Leaf] = field(default_factory=list)
    numbers: list[int | float] = field(default_factory=list)

    def bind(self, leaf: Expr, *under: Expr) -> tuple[str, str | None]:
        """Texts for a part; one that can fail is computed only where the conditions hold."""
        under = under if can_fail(leaf) else ()
        # Two Python functions may print alike and differ in what they close over: only columns go by name.
        known = leaf.name if isinstance(leaf, Col) else (id(leaf), *map(id, under))
        if known not in self.positions:
            # What is computed beforehand may turn out with or without nulls, batch by batch: always ask.
            column = self.batch.column(leaf.name) if isinstance(leaf, Col) else None
            with_nulls = column is None or not column.fixed or column.valid is not None
            self.positions[known] = len(self.leaves)
            self.leaves.append((leaf, with_nulls, under))
        position = self.positions[known]
        return f"c{position}[row]", f"v{position}[row]" if self.leaves[position][1] else None

    @property
    def values(self) -> list[str]:
        return [f"c{position}" for position in range(len(self.leaves))]

    @property
    def parameters(self) -> list[str]:
        return [name for position, (_, with_nulls, _) in enumerate(self.leaves)
                for name in ([f"c{position}", f"v{position}"] if with_nulls else [f"c{position}"])]

    @property
    def arguments(self) -> list[str]:
        return [f"number{position}" for position in range(len(self.numbers))]


class _Bound(LiteralArguments):
    """Texts of the parts of one expression, some of which are computed only where conditions hold."""

    def __init__(self, leaves: Leaves, under: tuple[Expr, ...] = ()) -> None:
        self._leaves, self._under = leaves, under

    def __call__(self, part: Expr) -> tuple[str, str | None]:
        return self._leaves.bind(part, *self._under)

    def argument(self, number: float) -> str:
        self._leaves.numbers.append(number)
        return self._leaves.arguments[-1]


def pane_text(measures: Sequence[ScalarAccumulator], keys: Sequence[Expr], condition: Expr | None, batch: Batch, *,
              many: bool = False) -> PaneText:
    """Generate the loop for a query and the nulls that `batch` has; of many groups it is given numbers."""
    leaves = Leaves(batch)
    stateful = [(number, measure) for number, measure in enumerate(measures) if not measure.counts_rows]
    imports: list[str] = []
    functions: Functions = {}
    for number, measure in stateful:
        lines, given = bind_steps(measure.steps, str(number),
                                  ("accumulate", "result") if measure.part is AggregatePhase.WHOLE else ("accumulate",))
        imports += lines
        functions |= given
    guard = [] if condition is None else guard_lines(condition, leaves)
    alone = not keys
    under = () if condition is None else (condition,)
    body = lines_under_tests([accumulate_line(number, measure, leaves, under, alone=alone)
                              for number, measure in stateful])
    timed = any(measure.steps.timed for _, measure in stateful)
    inline_key = keys[0] if len(keys) == 1 and not many and _inline(keys[0], batch) else None
    states = [f"s{number}_{part}" for number, measure in stateful for part in range(len(measure.steps.init))]
    outs = [f"out{number}_{column}" for number, measure in stateful
            for column in (*outputs(measure.steps, measure.part), "valid")]
    used = [name for name in SCALARS if any(f"{name}(" in line for line in [*guard, *body])]
    numbered = inline_key is None and not alone
    table = "FAR, SOON, index" if numbered else "find, index, learn"
    skip = ["if absent[row]:", "    continue"] if batch.absent is not None else []
    text = _render(
        title=", ".join(f"{measure.name}={measure.aggregate.show()}" for measure in measures),
        numbers=", ".join(f"{name} = {number}" for name, number in zip(leaves.arguments, leaves.numbers, strict=True)),
        imports=[*imports,
                 *([SHOW] if any(measure.part is AggregatePhase.WHOLE for _, measure in stateful) else []),
                 *([] if alone else ["from whimbrel.kernels.primitives.hashing.prefetch import DISTANCE, prefetch",
                                     f"from whimbrel.kernels.primitives.hashing.hash_table import {table}"]),
                 *(["from whimbrel.kernels.primitives.windows.panes import by_number"] if numbered else []),
                 *(f"from {SCALARS[name].__module__} import {name}" for name in used)],
        parameters=["sync", "group_of", "absent", *(["start"] if timed else []), *leaves.parameters,
                    *leaves.arguments, "hop", "offset", "direct", "table", "keys", "size", "pane", "rows", "touched",
                    *states, "count", "out_sync", "out_group", "out_rows", *outs, "row", "closes"],
        order=["groups = by_number(rows, touched, groups)"] if numbered else [],
        states=[*states, *outs],
        emit=[line for number, measure in stateful for line in _emit(number, measure)],
        apart=not alone and any(measure.part is not AggregatePhase.WHOLE for _, measure in stateful),
        rows=_alone(stateful, [*skip, *guard], body) if alone else _grouped(
            [_soon("group_of", *leaves.values), *skip, *guard],
            _FIND if inline_key is not None else _number(states), body),
    )
    step = load_text(without_comments(text), "step", functions)
    return PaneText(text, step, tuple(leaves.leaves), tuple(leaves.numbers), inline_key, timed, alone)


def _soon(*columns: str) -> str:
    return ", ".join(f"prefetch({column}, row + DISTANCE)" for column in columns)


_FIND = [
    "key = group_of[row]",
    "group = find(direct, table, key)",
    "if group < 0:  # a group not seen before",
    "    if size[0] >= keys.shape[0]:",
    "        full = True",
    "        break",
    "    group = learn(direct, table, keys, size, key)",
    "group = index(group)",
]


def _number(states: Sequence[str]) -> list[str]:
    """Lines that read the number of a group, and ask for the memory of one that comes soon, if there is much of it."""
    asked = ", ".join(f"prefetch({array}, soon)" for array in ("rows", *states))
    return ["if rows.shape[0] > FAR:", "    soon = index(group_of[min(row + SOON, sync.shape[0] - 1)])", f"    {asked}",
            "group = index(group_of[row])"]


def _inline(key: Expr, batch: Batch) -> bool:
    if not isinstance(key, Col):
        return False
    column = batch.column(key.name)
    whole = pa.types.is_integer(column.type) or pa.types.is_temporal(column.type)
    return column.fixed and column.valid is None and whole


def guard_lines(condition: Expr, leaves: Leaves) -> list[str]:
    test = predicate_source(condition, leaves.batch.schema, _Bound(leaves))
    return [f"if not {test}:  {comment(condition.show())}", "    continue"]


def _grouped(left_out: list[str], group: list[str], body: list[str]) -> list[str]:
    """Lines that take in the rows up to `stop`, each into the states of its group."""
    return ["for row in range(row, stop):",
            *_inner([*left_out, *group, "entered = rows[group]", "rows[group] = entered + 1", "if entered == 0:",
                     "    touched[groups], groups = group, groups + 1", *body]),
            "else:", "    row = stop"]


def _alone(stateful: Sequence[tuple[int, ScalarAccumulator]], left_out: list[str], body: list[str]) -> list[str]:
    """Lines that take in the rows up to `stop`, all into the same states, which stay in registers."""
    states = [(number, range(len(measure.steps.init))) for number, measure in stateful]
    loop = "for row in range(row, stop):"
    if left_out:
        counted = ["entered = 0", loop, *_inner([*left_out, "entered += 1", *body])]
    else:
        counted = ["entered = stop - row", *([loop, *_inner(body)] if body else [])]
    return [
        *(f"state{number} = {''.join(f's{number}_{part}[0], ' for part in parts).strip()}" for number, parts in states),
        *counted, "row = stop",
        *(f"{''.join(f's{number}_{part}[0], ' for part in parts).strip()} = state{number}" for number, parts in states),
        "if entered > 0:", "    touched[0], groups = 0, 1", "    rows[0] += entered"]


def lines_under_tests(lines: Sequence[tuple[str, str]]) -> list[str]:
    """Lines with what must hold for each: those under one test together."""
    by_test: dict[str, list[str]] = {}
    for test, line in lines:
        by_test.setdefault(test, []).append(line)
    return [line for test, mine in by_test.items() for line in ([f"if {test}:", *_inner(mine)] if test else mine)]


def accumulate_line(number: int, measure: ScalarAccumulator, leaves: Leaves, under: tuple[Expr, ...], *,
                alone: bool) -> tuple[str, str]:
    """What must hold for a row to be taken in, if anything, and the line that takes it in."""
    aggregate, schema = measure.aggregate, leaves.batch.schema
    tests: list[str] = []
    value = "1"
    if aggregate.condition is not None and measure.part is not AggregatePhase.MERGED:
        tests.append(predicate_source(aggregate.condition, schema, _Bound(leaves, under)))
        under = (*under, aggregate.condition)
    if measure.part is AggregatePhase.MERGED:  # the row is a state of other rows, which were judged where it was made
        states = [leaves.bind(Col(name))[0] for name in state_names(measure.name, measure.steps)]
        value = f"({', '.join(states)},)"
    elif aggregate.expr is not None:
        text, valid = to_source(aggregate.expr, schema, _Bound(leaves, under))
        tests += [] if valid is None else [valid]
        value = f"np.{measure.value_dtypes[0]}({text})" if aggregate.name != "count" else "1"
    started = ", start[row]" if measure.steps.timed else ""
    note, fields = comment(measure.name + "=" + aggregate.show()), range(len(measure.steps.init))
    if alone:
        line = f"state{number} = accumulate{number}(state{number}, {value}{started})  {note}"
    else:
        entered = f"accumulate{number}({_state(number, measure.steps)}, {value}{started})"
        line = f"{stored(f's{number}_', 'group', fields, entered)}  {note}"
    return " and ".join(tests), line


def _state(number: int, steps: AggregateFunctions) -> str:
    return tuple_of(f"s{number}_", "group", range(len(steps.init)))


def _emit(number: int, measure: ScalarAccumulator) -> list[str]:
    steps, fields = measure.steps, range(len(measure.steps.init))
    if measure.part is not AggregatePhase.WHOLE:
        shown = f"{into(f'out{number}_', 'done', fields)} = {into(f's{number}_', 'group', fields)}"
    else:
        shown = f"out{number}_valid[done] = show(result{number}({_state(number, steps)}), out{number}_0, done)"
    return [shown, f"{into(f's{number}_', 'group', fields)} = {literals(steps)}"]


def _render(*, title: str, numbers: str, imports: list[str], parameters: list[str], states: list[str], order: list[str],
            emit: list[str], apart: bool, rows: list[str]) -> str:
    closes = ["for position in range(groups):", *_inner([
        "group = touched[position]", "out_sync[done], out_group[done], out_rows[done] = at, group, rows[group]",
        "rows[group] = 0", *emit, "done += 1"])]
    function: list[str] = []
    if apart:  # what is written of states has registers of its own: those of the loop over rows are all taken
        given = ", ".join(["at, groups, done, rows, touched, out_sync, out_group, out_rows", *states])
        function = [f"def close({given}):", *_inner([*closes, "return done"]), "", ""]
        closes = [f"done = close({given})"]
    return "\n".join([
        comment(f"Adjacent windows: {title}"),
        *([comment(numbers)] if numbers else []),
        "",
        "import numpy as np",
        *imports,
        "",
        "",
        *function,
        f"def step({', '.join(parameters)}):",
        "    at, groups = pane[0], pane[1]",
        "    done, full = count[1], False",
        "    while (row < sync.shape[0] or (closes and groups > 0)) and not full:",
        "        if groups > 0 and (row == sync.shape[0] or sync[row] >= at + hop):  # it is over: one row a group",
        "            if done + groups > out_sync.shape[0]:",
        "                break",
        *_inner(order, 3),
        *_inner(closes, 3),
        "            groups = 0",
        "            continue",
        "        if groups == 0:",
        "            at = sync[row] - (sync[row] - offset) % hop",
        "        stop = row + np.searchsorted(sync[row:], at + hop)",
        *_inner(rows, 2),
        "    pane[0], pane[1] = at, groups",
        "    count[0], count[1] = full, done",
        "    return row",
        "",
    ])


def _inner(lines: list[str], levels: int = 1) -> list[str]:
    return ["    " * levels + line for line in lines]

"""The applications of bench E, each as operators and as expressions, over streams of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import whimbrel as wb
from bench import applications_in_expressions as expressions
from bench import applications_in_operators as operators
from bench.compare import Row, compare
from bench.sides import collected
from whimbrel import Stream, col
from whimbrel.optimize import optimize
from whimbrel.plan import explain

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Application:
    """A query in both forms.

    Attributes
    ----------
    name : str
        Of the functions that make it.
    operators, expressions : callable
        Make the query over new sources.
    columns : tuple of str
        The columns of both answers; none where only the times of events are compared.
    """

    name: str
    operators: Callable[[], Stream]
    expressions: Callable[[], Stream]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Samples:
    """Values for all applications: one at each tick, float32 from -50 to 50.

    Parameters
    ----------
    rows : int
    width : int
        Of the window sum.
    cell : int
        Of the windows that normalise and impute.
    keys : int
        Cards.
    assumed : bool
        Whether streams are declared to be periodic.
    """

    rows: int
    width: int = 1_000
    cell: int = 10_000
    keys: int = 1_000
    assumed: bool = True

    def stream(self, every: int = 1, per: str | None = None, **columns: Any) -> Stream:
        """A stream of a value each `every` ticks, with a source of its own."""
        table = pa.table({"at": np.arange(self.rows) * every, **columns})
        log = wb.from_arrow(table, time="at", name="log")
        if self.assumed:
            log = log.assume(periodic=every) if per is None else log.assume(periodic=self.keys, per=per)
        return log.select(*columns)

    def values(self, name: str) -> Array:
        """Values of a column, always the same."""
        random = np.random.default_rng(["x", "y", "kind", "gap"].index(name) + 3)
        if name == "kind":
            return random.integers(0, 3, self.rows)
        values = random.uniform(-50, 50, self.rows).astype(np.float32)
        return np.where(np.abs(values) < 45, self.values("x"), np.nan) if name == "gap" else values

    def steps(self) -> Stream:
        """A value each 4 ticks, with the one after it."""
        x = self.values("x")
        at = np.arange(self.rows - 1) * 4
        table = pa.table({"at": at, "until": at + 4, "x": x[:-1], "to": x[1:]})
        log = wb.from_arrow(table, time="at", end="until", name="log")
        return (log.assume(periodic=4, duration=4) if self.assumed else log).select("x", "to", a=col.at)

    def ticks(self) -> Stream:
        """The times at which a signal is resampled."""
        ticks = wb.from_arrow({"at": np.arange(0, (self.rows - 1) * 4, 5)}, time="at", name="ticks")
        return (ticks.assume(periodic=5) if self.assumed else ticks).select(t=col.at)


def applications(of: Samples) -> Iterator[Application]:
    """All of them, in the order of table 2."""
    x, missing = of.values("x"), pa.array(of.values("gap"), from_pandas=True)
    cards = np.arange(of.rows) % of.keys

    def both(name: str, make: Callable[[], Stream], columns: tuple[str, ...], *options: Any) -> Application:
        forms = (getattr(form, name) for form in (operators, expressions))
        return Application(name, *(lambda query=query: query(make(), *options) for query in forms), columns)

    def log() -> Stream:
        return of.stream(x=x)

    def of_cards() -> Stream:
        return of.stream(per="card", card=cards, x=x)

    yield both("plus_three", log, ("z",))
    yield both("positive", log, ("x",))
    yield both("window_sum", log, ("z",), of.width)
    yield Application("added", lambda: operators.added(log(), of.stream(y=of.values("y"))),
                      lambda: expressions.added(log(), of.stream(y=of.values("y"))), ("z",))
    yield both("views", lambda: of.stream(kind=of.values("kind")), ("n",))
    yield both("crossing", log, ())
    yield both("strength", log, ("z",))
    yield both("scores", log, ("z",), of.cell)
    yield both("imputed", lambda: of.stream(x=missing), ("z",), of.cell)
    yield Application("resampled", lambda: operators.resampled(of.ticks(), of.steps()),
                      lambda: expressions.resampled(of.stream(4, x=x)), ("z",))
    yield both("pan_tompkins", log, ("z",))
    yield both("moments", log, ("rms", "crest", "kurtosis"))
    yield both("outliers", log, ("x",))
    yield Application("fraud", lambda: operators.fraud(of_cards(), of.keys), lambda: expressions.fraud(of_cards()),
                      ("x",))


def rows_of_applications(rows: int) -> Iterator[Row]:
    """Compare the expressions of each application with its operators. Those with the same plan have no row.

    Without an assumption operators run on the timeline, which is slow: there are fewer rows.
    """
    for samples in (Samples(rows), Samples(rows // 10, assumed=False)):
        for each in applications(samples):
            if len({explain(optimize(form().node)) for form in (each.expressions, each.operators)}) == 1:
                continue
            yield from compare("E applications" if samples.assumed else "E applications, not assumed", each.name,
                               samples.rows, collected(each.expressions), {"operators": collected(each.operators)},
                               same_at_events(each.columns))


def same_at_events(columns: tuple[str, ...]) -> Callable[[pa.Table, pa.Table], bool]:
    """Whether expressions have the values of operators at the same times; floats may differ by rounding.

    Windows of operators last until they are empty, after the last event; expressions are null where operators have no
    event.
    """
    def same(ours: pa.Table, theirs: pa.Table) -> bool:
        known = np.ones(ours.num_rows, np.bool_)
        for name in columns:
            known &= np.isfinite(ours[name].cast(pa.float64()).to_numpy())
        at, found = np.asarray(ours["start"])[known], np.asarray(theirs["start"])
        last = np.searchsorted(found, np.asarray(ours["start"])[-1], "right")
        values = {name: np.asarray(theirs[name].cast(pa.float64()).to_numpy())[:last] for name in columns}
        defined = np.logical_and.reduce([np.isfinite(each) for each in values.values()] or [np.ones(last, np.bool_)])
        if not np.array_equal(at, found[:last][defined]):
            return False
        return all(np.allclose(ours[name].cast(pa.float64()).to_numpy()[known], each[defined], rtol=1e-4, atol=1e-4)
                   for name, each in values.items())

    return same

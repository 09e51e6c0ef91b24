"""Hypothesis strategies: streams of facts, arrivals, batchings and random queries over the example schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from whimbrel.testing.oracle import INF, Fact
from whimbrel.testing.query import Query

_INT64_EXTREMES = (-(2**63), 2**63 - 1)

_NEVER_KEYS = ("time", "first_time", "events")

KEYS = st.sampled_from(("a", "b", "ü", "", None))
WIDE = st.sampled_from((*_INT64_EXTREMES, 0, 1, None))
INTEGERS = st.one_of(st.none(), st.integers(-5, 9))
# Quarters: sums and means of them are exact, so that a comparison after an aggregate cannot hang on the last bit.
FLOATS = st.one_of(st.none(), st.integers(-40, 40).map(lambda quarters: quarters / 4))
FLAGS = st.sampled_from((True, False, None))


@st.composite
def facts(draw: st.DrawFn, *, max_size: int = 14, newest: int = 40) -> list[Fact]:
    """A stream of the example schema: points, intervals and facts without a known end, some of them simultaneous."""
    lengths = st.one_of(st.just(1), st.integers(1, 25), st.just(INF))
    row = st.tuples(st.integers(-12, newest), lengths, KEYS, WIDE, INTEGERS, FLOATS, FLAGS)
    rows = draw(st.one_of(st.lists(row, max_size=3), st.lists(row, min_size=max_size // 2, max_size=max_size)))
    return [
        (time, time + length, {"time": time, "key": key, "k2": k2, "x": x, "y": y, "flag": flag})
        for time, length, key, k2, x, y, flag in rows
    ]


@st.composite
def arrivals(draw: st.DrawFn, stream: Sequence[Fact], *, max_latency: int = 15) -> tuple[list[Fact], int]:
    """A stream in an order of arrival, and the reorder latency under which nothing of it is late."""
    latency = draw(st.integers(0, max_latency))
    delays = draw(st.lists(st.integers(0, latency), min_size=len(stream), max_size=len(stream)))
    # Whoever arrives earlier started at most `latency` later, since start + delay is what arrivals are ordered by.
    order = sorted(range(len(stream)), key=lambda row: stream[row][0] + delays[row])
    return [stream[row] for row in order], latency


def batchings(rows: int) -> st.SearchStrategy[list[int]]:
    """Places at which so many rows are cut; a place given twice makes an empty batch."""
    return st.lists(st.integers(0, rows), max_size=5).map(sorted)


def cut(stream: Sequence[Fact], places: Sequence[int]) -> list[list[Fact]]:
    """Rows cut into batches at these places."""
    return [list(stream[start:stop]) for start, stop in pairwise([0, *places, len(stream)])]


@st.composite
def queries(draw: st.DrawFn, *, max_steps: int = 4) -> Query:
    """A random query that the planner must accept, over ``s`` and perhaps ``t``."""
    plan = _Plan(draw)
    for _ in range(draw(st.integers(1, max_steps))):
        plan.step()
    return Query(tuple(plan.steps))


@st.composite
def pattern_queries(draw: st.DrawFn) -> Query:
    """A random pattern, per key or over all events, whose predicates are true often enough for long runs."""
    likely = st.sampled_from(("col.x > 0", "col.x <= 4", "col.flag", "~col.flag", "col.y.is_null() | (col.y > -5)"))
    keys = draw(st.sampled_from(("", ".group_by('key')", ".group_by('flag')")))
    pattern = draw(patterns(likely))
    return Query((keys, f".detect({pattern}, within={draw(st.integers(1, 60))})"))


@st.composite
def patterns(draw: st.DrawFn, predicates: st.SearchStrategy[str], depth: int = 2) -> str:
    """A pattern as text: sequences, alternatives, repetitions and options, nested, but never of no event at all."""
    if not depth or draw(st.booleans()):
        form = draw(st.sampled_from(("wb.event({})", "wb.sequence(a={}, b={})")))
        return form.format(draw(predicates), draw(predicates))
    form = draw(st.sampled_from(("{}.then({})", "({} | {})", "{}.repeat()", "{}.optional().then({})",
                                 "{}.then({}.repeat().optional())")))
    return form.format(draw(patterns(predicates, depth - 1)), draw(patterns(predicates, depth - 1)))


@dataclass
class _Plan:
    """A query under way: what columns there are by now, and of what kind."""

    draw: st.DrawFn
    columns: dict[str, str] = field(default_factory=lambda: {
        "time": "int", "key": "str", "k2": "wide", "x": "int", "y": "float", "flag": "bool"})
    steps: list[str] = field(default_factory=list)
    joined: bool = False
    looks_ahead: bool = False

    def step(self) -> None:
        choices: list[Callable[[], None]] = [self._where, self._select, self._with_columns, self._window,
                                             self._aggregate, self._detect]
        if not self.joined and not self.looks_ahead and self._keys_in_both():
            choices.append(self._join)
        self.pick(choices)()

    def pick(self, choices: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(choices))

    def of_kind(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.columns.items() if kind in kinds]

    def number(self) -> tuple[str, str]:
        """A numeric expression and its kind."""
        names = self.of_kind("int", "float")
        if not names:
            return "wb.lit(1)", "int"
        name = self.pick(names)
        form, kind = self.pick([("col.{0}", None), ("col.{0} + 2", None), ("col.{0} * 3", None), ("7 - col.{0}", None),
                                ("-col.{0}", None), ("col.{0} / 4", "float"), ("col.{0} + 0.5", "float"),
                                ("col.{0}.fill_null(1)", None), ("col.{0} - col.{1}", None)])
        other = self.pick(names)
        if kind is None:
            kind = "float" if "float" in (self.columns[name], self.columns[other] if "{1}" in form else "") else "int"
        if kind == "int" and form == "col.{0}" and self.draw(st.booleans()):
            form = self.pick(["col.{0} % 3", "col.{0} // 3"])
        return form.format(name, other), kind

    def predicate(self, depth: int = 1) -> str:
        forms = [f"{self.number()[0]} {self.pick(['>', '<=', '!=', '=='])} {self.draw(st.integers(-3, 6))}"] * 3
        forms += [f"col.{name}" for name in self.of_kind("bool")] + [f"~col.{name}" for name in self.of_kind("bool")]
        forms += [f"col.{name} == 'a'" for name in self.of_kind("str")]
        forms += [f"col.{name} >= 0" for name in self.of_kind("wide")]
        forms += [f"col.{self.pick(list(self.columns))}.is_null()"]
        form: str = self.pick(forms)
        if depth and self.draw(st.booleans()):
            return f"({form}) {self.pick(['&', '|'])} ({self.predicate(depth - 1)})"
        return form

    def _where(self) -> None:
        self.steps.append(f".where({self.predicate()})")

    def _select(self) -> None:
        kept = [name for name in self.columns if self.draw(st.booleans())]
        text, kind = self.number()
        new = self._fresh("v")
        self.steps.append(f".select({', '.join([*map(repr, kept), f'{new}={text}'])})")
        self.columns = {name: self.columns[name] for name in kept} | {new: kind}

    def _with_columns(self) -> None:
        text, kind = self.number()
        name = self.pick([self._fresh("w"), *self.columns])
        self.steps.append(f".with_columns({name}={text})")
        self.columns[name] = kind

    def _window(self) -> None:
        self.steps.append(self._window_text())

    def _window_text(self) -> str:
        hop = self.draw(st.integers(1, 6))
        size = self.draw(st.integers(hop, 12))
        label, offset = self.pick(["start", "end"]), self.draw(st.integers(-3, 3))
        text: str = self.pick([f".sliding_window({size})",
                               f".tumbling_window({size}, offset={offset}, label={label!r})",
                               f".hopping_window({size}, {hop}, offset={offset}, label={label!r})"])
        self.looks_ahead |= "'start'" in text
        return text

    def _group_by(self, most: int) -> list[str]:
        names = [name for name in self.of_kind("str", "wide", "int", "bool") if name not in _NEVER_KEYS]
        keys = [name for name in names if self.draw(st.booleans())][:most]
        if keys:
            self.steps.append(f".group_by({', '.join(map(repr, keys))})")
            if self.draw(st.booleans()):
                self.pick([self._where, self._window])()
        return keys

    def _aggregate(self) -> None:
        keys = self._group_by(2)
        made: dict[str, str] = {}
        texts = []
        for position in range(self.draw(st.integers(1, 3))):
            text, kind = self._aggregate_text()
            name = f"a{position}" if f"a{position}" not in keys else f"b{position}"
            texts.append(f"{name}={text}")
            made[name] = kind
        self.steps.append(f".aggregate({', '.join(texts)})")
        self.columns = {key: self.columns[key] for key in keys} | made

    def _aggregate_text(self) -> tuple[str, str]:
        number, kind = self.number()
        extremes = [(f"wb.{extreme}(col.{name})", self.columns[name]) for name in self.of_kind("wide", "str")
                    for extreme in ("min", "max")]
        text, made = self.pick([("wb.count()", "int"), (f"wb.sum({number})", kind), (f"wb.mean({number})", "float"),
                                (f"wb.min({number})", kind), (f"wb.max({number})", kind),
                                (f"wb.median({number})", "float"), (f"wb.count_distinct({number})", "int"),
                                (f"wb.quantile({number}, 0.3, interpolation='discrete')", kind), *extremes])
        return (f"{text}.where({self.predicate(0)})" if self.draw(st.booleans()) else text), made

    def _keys_in_both(self) -> list[str]:
        return [name for name, kind in (("key", "str"), ("k2", "wide"), ("x", "int")) if self.columns.get(name) == kind]

    def _join(self) -> None:
        key = self.pick(self._keys_in_both())
        right = self.pick(["t", "t.sliding_window(5)", "t.where(col.flag)", "s", "s.sliding_window(9)"])
        self.joined = True
        if self.draw(st.booleans()):
            word = self.pick(["semi_join", "anti_join", "clip"])
            self.steps.append(f".{word}({right}, on={key!r})")
            return
        word, options = self.pick([("join", f", how={how!r}") for how in ("inner", "left", "right", "full")]
                                  + [("asof_join", ""), ("asof_join", ", tolerance=6")])
        self.steps.append(f".{word}({right}, on={key!r}{options})")
        names = {"time": "int", "key": "str", "k2": "wide", "x": "int", "y": "float", "flag": "bool"}
        self.columns |= {name if name not in self.columns else f"{name}_right": kind
                         for name, kind in names.items() if name != key}

    def _detect(self) -> None:
        keys = self._group_by(1)
        pattern = self.draw(patterns(st.builds(self.predicate, st.just(0))))
        self.steps.append(f".detect({pattern}, within={self.draw(st.integers(1, 40))})")
        self.columns = {key: self.columns[key] for key in keys} | {"first_time": "int", "events": "int"}

    def _fresh(self, stem: str) -> str:
        return next(name for name in (f"{stem}{n}" for n in range(9)) if name not in self.columns)

"""Generate random queries, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from hypothesis import strategies as st

EXAMPLE_COLUMNS = {"time": "int", "key": "str", "k2": "wide", "x": "int", "y": "float", "flag": "bool"}
"""The columns of the example schema, by what may be done with them.

``wide`` integers may not be added up, and ``real`` numbers not be compared: their last bits are nobody's promise.
"""

_NEVER_KEYS = ("time", "first_time", "events")
_MAX_ROWS = 100
_MAX_BINARY = 2


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
class RandomPlan:
    """A query that the planner must accept, step by step.

    Parameters
    ----------
    rows : int
        About how many facts the answer may have by now; steps that multiply them stop when there are many.
    binary : int
        How many steps may still take a second stream.
    ordered : bool
        Whether aggregates may depend on the order of starts. The model reads it off the column `time`.
    """

    draw: st.DrawFn
    rows: int = 12
    binary: int = _MAX_BINARY
    ordered: bool = False
    grouped: bool = False
    columns: dict[str, str] = field(default_factory=lambda: dict(EXAMPLE_COLUMNS))
    steps: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=count)

    def step(self) -> None:
        choices: list[tuple[Callable[[], None], int]] = [
            (self._where, 1), (self._select, 1), (self._with_columns, 1), (self._drop, 1), (self._rename, 1),
            (self._window, 1), (self._window, 1), (self._lifetime, 1), (self._lifetime, 1), (self._stitch, 1),
            (self._aggregate, 2), (self._aggregate, 2), (self._detect, 6), (self._distinct, 2), (self._top_k, 3),
            (self._select_many, 3), (self._chop, 5), (self._pivot, 2),
        ]
        if not self.grouped:
            choices += [(self._unpivot, 4), (self._group_apply, 2)]
        if self.binary:
            choices += [(self._join, 4)] * 2 + [(self._match, 2)] * 2 + [(self._union, 2)]
        _, times = chosen = self.pick([each for each in choices if each[1] == 1 or self.rows * each[1] <= _MAX_ROWS])
        self.rows *= times
        chosen[0]()

    def pick(self, choices: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(choices))

    def number(self, minimum: int, maximum: int) -> int:
        return self.draw(st.integers(minimum, maximum))

    def maybe(self) -> bool:
        return self.draw(st.booleans())

    def add(self, text: str) -> None:
        self.steps.append(text)

    def of_kind(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.columns.items() if kind in kinds]

    def fresh(self, stem: str) -> str:
        return f"{stem}{next(self.numbers)}"

    # Expressions.

    def value(self, *, exact: bool = True) -> tuple[str, str]:
        """A numeric expression and its kind."""
        names = self.of_kind("int", "float") + ([] if exact else self.of_kind("real"))
        if not names:
            return "wb.lit(1)", "int"
        name = self.pick(names)
        form, kind = self.pick([("col.{0}", None), ("col.{0} + 2", None), ("col.{0} * 3", None), ("7 - col.{0}", None),
                                ("-col.{0}", None), ("col.{0} / 4", "float"), ("col.{0} + 0.5", "float"),
                                ("col.{0}.fill_null(1)", None), ("col.{0} - col.{1}", None)])
        other = self.pick(names)
        kinds = {self.columns[name], self.columns[other] if "{1}" in form else "int"}
        if "real" in kinds:
            kind = "real"
        elif kind is None:
            kind = "float" if "float" in kinds else "int"
        if kind == "int" and form == "col.{0}" and self.maybe():
            form = self.pick(["col.{0} % 3", "col.{0} // 3"])
        return form.format(name, other), kind

    def predicate(self, depth: int = 1) -> str:
        forms = [f"{self.value()[0]} {self.pick(['>', '<=', '!=', '=='])} {self.number(-3, 6)}"] * 3
        forms += [f"col.{name}" for name in self.of_kind("bool")] + [f"~col.{name}" for name in self.of_kind("bool")]
        forms += [f"col.{name} == 'a'" for name in self.of_kind("str")]
        forms += [f"col.{name} >= 0" for name in self.of_kind("wide")]
        if depth and not self.grouped:
            forms += ["wb.end_time() - wb.start_time() > 4", "wb.end_time().is_null()"]
        if self.columns:
            forms += [f"col.{self.pick(list(self.columns))}.is_null()"]
        form: str = self.pick(forms)
        if depth and self.maybe():
            return f"({form}) {self.pick(['&', '|'])} ({self.predicate(depth - 1)})"
        return form

    # Rows.

    def _where(self) -> None:
        self.add(f".where({self.predicate()})")

    def _select(self) -> None:
        kept = [name for name in self.columns if self.maybe()]
        text, kind = self.value(exact=False)
        new = self.fresh("v")
        self.add(f".select({', '.join([*map(repr, kept), f'{new}={text}'])})")
        self._keep(kept)
        self.columns[new] = kind

    def _keep(self, names: Sequence[str]) -> None:
        self.columns = {name: self.columns[name] for name in names}
        self.ordered &= "time" in names

    def _with_columns(self) -> None:
        text, kind = self.value(exact=False)
        name = self.pick([self.fresh("w"), *self.columns])
        self.add(f".with_columns({name}={text})")
        self.columns[name] = kind
        self.ordered &= name != "time"

    def _drop(self) -> None:
        dropped = [name for name in self.columns if self.maybe()][:len(self.columns) - 1]
        if dropped:
            self.add(f".drop({', '.join(map(repr, dropped))})")
            self._keep([name for name in self.columns if name not in dropped])

    def _rename(self) -> None:
        if self.columns:
            old, new = self.pick(list(self.columns)), self.fresh("r")
            self.add(f".rename({new}={old!r})")
            self.columns = {new if name == old else name: kind for name, kind in self.columns.items()}
            self.ordered &= old != "time"

    def _select_many(self) -> None:
        texts = self.of_kind("str")
        if texts and self.maybe():
            self.add(f".explode({self.pick(texts)!r}, split='a')")
            return
        (one, kind), (other, also) = self.value(), self.value()
        new = self.fresh("m")
        times = self.pick(["", ", times=2", *(f", times=col.{name} % 3" for name in self.of_kind("int"))])
        items = f"{one}, {other if also == kind else one}"
        self.add(f".explode({new!r}, [{items}]{times})")
        self.columns[new] = kind

    def _pivot(self) -> None:
        attributes, values = self.of_kind("str"), self.of_kind("int", "wide", "bool", "str")
        if not attributes or not values:
            return
        attribute, value = self.pick(attributes), self.pick(values)
        names = [name for name in self._possible_keys() if name not in (attribute, value) and self.maybe()][:1]
        cells = [name for name in ("a", "b", "zz") if name not in names]
        extreme = self.pick([", aggregate=wb.max", ", aggregate=wb.min", ", aggregate=wb.count",
                             *([", aggregate=wb.sum"] if self.columns[value] == "int" else [])])
        listed = "".join(f"{name!r}, " for name in names)
        self.add(f".pivot({listed}attribute={attribute!r}, value={value!r}, values={cells}{extreme})")
        made = "int" if "count" in extreme else self.columns[value]
        self._keep(names)
        self.columns |= dict.fromkeys(cells, made)
        self.ordered = False

    def _unpivot(self) -> None:
        kind = self.pick(["int", "float", "str", "bool"])
        if columns := self.of_kind(kind):
            kept = [name for name in self._possible_keys() if self.columns[name] != kind][:1]
            self.add(f".select({', '.join(map(repr, [*kept, *columns]))})")
            attribute, value = self.fresh("attribute"), self.fresh("value")
            self.add(f".unpivot({''.join(f'{name!r}, ' for name in kept)}attribute={attribute!r}, value={value!r})")
            self._keep(kept)
            self.columns |= {attribute: "str", value: kind}
            self.ordered = False

    # Lifetimes.

    def _window(self) -> None:
        self.add(self.pick([self._grid, self._other_window])())

    def _grid(self) -> str:
        hop = self.number(1, 6)
        size = self.number(hop, 12)
        label, offset = self.pick(["start", "end"]), self.number(-3, 3)
        return self.pick([f".tumbling_window({size}, offset={offset}, label={label!r})",
                          f".hopping_window({size}, {hop}, offset={offset}, label={label!r})",
                          f".hopping_window({hop}, {size}, offset={offset}, label={label!r})"])

    def _other_window(self) -> str:
        hop = self.number(1, 4)
        size = hop * self.number(1, 3)
        return self.pick([f".sliding_window({self.number(1, 12)})", f".quantize({size}, {hop})",
                          f".progressive_window({2 * size}, {2 * hop}, {hop})",
                          f".session_window({self.number(1, 6)})",
                          f".session_window({hop}, max_duration={self.number(3, 9)})",
                          f".session_window({self.number(1, 6)}, emit='close')", f".last_rows({self.number(1, 4)})"])

    def _lifetime(self) -> None:
        durations = [str(self.number(1, 9)), "None", "col.end - col.start + 2",
                     *(f"col.{name} % 9 - 1" for name in self.of_kind("int"))]
        text = self.pick([f".set_duration({self.pick(durations)})", f".shift({self.number(-9, 9)})",
                          f".extend({self.number(-4, 5)})", f".clip_duration({self.number(1, 12)})", ".point_at_end()",
                          f".alter_lifetime(start=col.start // {self.number(2, 6)}, duration={self.pick(durations)})",
                          f".alter_lifetime(start=col.start - 1, duration={self.pick(durations)})"])
        self.add(text)
        self.ordered &= text.startswith((".set_duration", ".shift", ".extend", ".clip"))

    def _chop(self) -> None:
        if self.number(0, 9):  # without it, an event of no known end is an error, which is an answer too
            self.add(f".clip_duration({self.number(2, 20)})")
        self.add(f".chop({self.number(4, 9)}, offset={self.number(-2, 2)})")
        self.ordered = False

    def _stitch(self) -> None:
        self._only_exact()
        if self.columns:
            self.add(".stitch()")
            self.ordered = False

    def _only_exact(self) -> None:
        if inexact := self.of_kind("real"):
            if len(inexact) == len(self.columns):
                self._select_constant()
            self.add(f".drop({', '.join(map(repr, inexact))})")
            self._keep([name for name in self.columns if name not in inexact])

    def _select_constant(self) -> None:
        name = self.fresh("c")
        self.add(f".with_columns({name}=wb.lit(1))")
        self.columns[name] = "int"

    # Groups and snapshots.

    def _possible_keys(self) -> list[str]:
        return [name for name in self.of_kind("str", "wide", "int", "bool") if name not in _NEVER_KEYS]

    def _group_by(self, maximum: int) -> list[str]:
        keys = [name for name in self._possible_keys() if self.maybe()][:maximum]
        if keys:
            self.add(f".group_by({', '.join(map(repr, keys))})")
            if self.maybe():
                self.pick([self._where, self._window])()
        return keys

    def _aggregate(self) -> None:
        keys = self._group_by(2)
        grid = self.number(0, 3) == 0
        if grid:
            hop = self.number(1, 6)
            size, label = self.number(1, 3 * hop), self.pick(["start", "end"])
            self.add(f".hopping_window({size}, {hop}, offset={self.number(-3, 3)}, label={label!r})")
        made: dict[str, str] = {}
        texts = []
        for _ in range(self.number(1, 3)):
            text, kind = self._result()
            name = self.fresh("a")
            texts.append(f"{name}={text}")
            made[name] = kind
        if grid and self.maybe():
            name = self.fresh("a")
            texts.append(f"{name}={self.pick(['wb.window_start()', 'wb.window_end()'])}")
            made[name] = "int"
        # Time is common to all groups, so they are filled to the last window of any: no matter of one group's facts.
        options = ["", ", emit='close'", *([] if self.grouped else [", fill=True"])]
        option = self.pick(options) if grid else ""
        self.add(f".aggregate({', '.join(texts)}{option})")
        self._keep(keys)
        self.columns |= made
        self.ordered = False

    def _result(self) -> tuple[str, str]:
        text, kind = self._aggregate_text()
        if kind in ("int", "float", "real") and self.number(0, 3) == 0:
            return self.pick([(f"{text} * 2 - 1", kind), (f"{text} + wb.count()", kind),
                              (f"{text}.fill_null(0) + {text}", kind), (f"{text}.is_null()", "bool")])
        return text, kind

    def _aggregate_text(self) -> tuple[str, str]:
        value, kind = self.value()
        loose, loose_kind = self.value(exact=False)
        extremes = [(f"wb.{extreme}(col.{name})", self.columns[name]) for name in self.of_kind("wide", "str")
                    for extreme in ("min", "max")]
        flags = [(f"wb.{word}(col.{name})", "bool") for name in self.of_kind("bool") for word in ("any", "all")]
        edges = [(f"wb.{word}({value})", kind) for word in ("first", "last")] if self.ordered else []
        text, made = self.pick([
            ("wb.count()", "int"), (f"wb.sum({loose})", loose_kind if loose_kind == "int" else "real"),
            (f"wb.count({value})", "int"), (f"wb.mean({loose})", "real"), (f"wb.min({value})", kind),
            (f"wb.max({value})", kind), (f"wb.median({value})", "real"), (f"wb.count_distinct({value})", "int"),
            (f"wb.quantile({value}, 0.3, interpolation='discrete')", kind), (f"wb.var({value})", "real"),
            (f"wb.std({value}, sample=False)", "real"),
            (f"wb.sum_of_squares({value})", "wide" if kind == "int" else "real"), *extremes, *flags, *edges])
        return (f"{text}.where({self.predicate(0)})" if self.maybe() else text), made

    def _distinct(self) -> None:
        keys = self._group_by(1)
        names = [name for name in self.columns if name not in keys and self.columns[name] != "real" and self.maybe()]
        if names:
            self.add(f".distinct({', '.join(map(repr, names))})")
            self._keep([*keys, *names])
            self.ordered = False
        elif keys:
            self._count(keys)

    def _count(self, keys: Sequence[str]) -> None:
        name = self.fresh("n")
        self.add(f".aggregate({name}=wb.count())")
        self._keep(keys)
        self.columns[name] = "int"
        self.ordered = False

    def _top_k(self) -> None:
        if self.of_kind("int", "float"):
            self._only_exact()
            text, _ = self.value()
            rank = self.fresh("rank")
            options = self.pick(["", ", descending=False", ", ties=False"])
            self.add(f".top_k({self.number(1, 3)}, by={text}, rank={rank!r}{options})")
            self.columns[rank] = "int"
            self.ordered = False

    def _detect(self) -> None:
        keys = self._group_by(1)
        pattern = self.draw(patterns(st.builds(self.predicate, st.just(0))))
        options = self.pick(["", "", ", skip=True", ", overlapping=False"])
        self.add(f".detect({pattern}, within={self.number(1, 25 if options else 40)}{options})")
        self._keep(keys)
        self.columns |= {"first_time": "int", "events": "int"}
        self.ordered = False

    def _group_apply(self) -> None:
        if names := self._possible_keys():
            keys = [self.pick(names)]
            inner = RandomPlan(self.draw, self.rows, 0, grouped=True, numbers=self.numbers,
                         columns={name: kind for name, kind in self.columns.items() if name not in keys})
            for _ in range(self.number(1, 3)):
                inner.step()
            self.add(f".group_by({keys[0]!r}).group_apply(lambda g: g{''.join(inner.steps)})")
            self._keep(keys)
            self.columns |= inner.columns
            self.rows, self.ordered = inner.rows, False

    # Two streams.

    def _other(self) -> tuple[str, dict[str, str]]:
        """Another stream as text, with its columns."""
        self.binary -= 1
        self.ordered = False
        name = self.pick(["t", "t", "s"])
        other = RandomPlan(self.draw, 6, 0, numbers=self.numbers)
        for _ in range(self.number(0, 2)):
            other.step()
        return name + "".join(other.steps), other.columns

    def _on(self, columns: dict[str, str]) -> dict[str, str]:
        """Keys, left to right; may be none."""
        kinds = ("str", "wide", "int", "bool")
        pairs = [(left, right) for left, kind in self.columns.items() for right, other in columns.items()
                 if kind == other and kind in kinds]
        alike = [(left, right) for left, right in pairs if left == right]
        return dict([self.pick(alike or pairs)]) if pairs else {}

    def _join(self) -> None:
        right, columns = self._other()
        on, suffix = self._on(columns), self.fresh("_")
        if not on:
            return
        joined = {name if name not in self.columns else name + suffix: kind for name, kind in columns.items()
                  if on.get(name) != name}
        words = [("join", f", how={how!r}") for how in ("inner", "left", "right", "full")]
        words += [("asof_join", ""), ("asof_join", f", tolerance={self.number(1, 9)}"),
                  ("asof_join", f", tolerance=6, direction={self.pick(['forward', 'nearest'])!r}")]
        word, options = self.pick(words)
        options += self.pick(["", ", strict=True"]) if word == "asof_join" else ""
        options += self.pick(["", ", nulls_equal=True"])
        both = RandomPlan(self.draw, columns=self.columns | joined)
        condition = f", where={both.predicate(0)}" if word == "join" and self.maybe() else ""
        self.add(f".{word}({right}, on={on}{options}{condition}, suffix={suffix!r}, allow_lookahead=True)")
        self.columns = both.columns

    def _match(self) -> None:
        right, columns = self._other()
        if on := self._on(columns):
            word = self.pick(["semi_join", "anti_join", "clip_at"])
            nulls = self.pick(["", ", nulls_equal=True"])
            self.add(f".{word}({right}, on={on}{nulls}, allow_lookahead=True)")

    def _union(self) -> None:
        right, columns = self._other()
        if names := [name for name, kind in columns.items() if self.columns.get(name) == kind]:
            chosen = f".select({', '.join(map(repr, names))})"
            self.add(f"{chosen}.union({right}{chosen})")
            self._keep(names)

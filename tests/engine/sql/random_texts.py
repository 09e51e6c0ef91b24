"""Random typed SQL over the log TCP."""

from __future__ import annotations

import random
import re

_COLUMNS = {"int": ["time", "len", "protocol"], "text": ["srcIP", "destIP"], "bool": ["fin"]}
_LITERALS = {"int": ["0", "3", "10", "-20"], "text": ["'a'", "'b'"], "bool": ["TRUE", "FALSE"]}


class RandomText:
    """Writes queries; `relational` ones are of a form that a database answers over the same rows.

    Epochs stand in braces: ``{time/6}`` is ``time/6`` here, and a floor elsewhere.
    """

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def pick(self, choices: list[str]) -> str:
        return self.draw.choice(choices)

    def value(self, kind: str, depth: int, table: str = "") -> str:
        """An expression of a type."""
        if depth == 0 or self.draw.random() < 0.25:
            return f"{table}{self.pick(_COLUMNS[kind])}" if self.draw.random() < 0.8 else self.pick(_LITERALS[kind])
        one, other = (self.value(kind, depth - 1, table) for _ in range(2))
        choices = [f"coalesce({one}, {other})", f"CASE WHEN {self.truth(depth - 1, table)} THEN {one} ELSE {other} END",
                   f"nullif({one}, {other})", f"CASE WHEN {self.truth(depth - 1, table)} THEN {one} END"]
        if kind == "int":
            choices += [f"({one} + {other})", f"({one} - {other})", f"({one} * 2)", f"(- {one})", f"abs({one})",
                        f"({one} % 3)"]
        return self.truth(depth, table) if kind == "bool" else self.pick(choices)

    def truth(self, depth: int, table: str = "") -> str:
        """A condition."""
        if depth == 0:
            return self.pick([f"{table}fin", f"({table}len > 10)", f"({table}srcIP = 'a')"])
        kind = self.pick(["int", "int", "text"])
        x, y, z = (self.value(kind, depth - 1, table) for _ in range(3))
        p, q = self.truth(depth - 1, table), self.truth(depth - 1, table)
        return self.pick([
            f"({x} {self.pick(['=', '<>', '<', '<=', '>', '>='])} {y})", f"({p} AND {q})", f"({p} OR {q})",
            f"(NOT {p})", f"({x} IS NULL)", f"({x} IS NOT NULL)", f"({x} BETWEEN {y} AND {z})",
            f"({x} IN ({self.pick(_LITERALS[kind])}, {self.pick(_LITERALS[kind])}))", f"({x} IS DISTINCT FROM {y})"])

    def measure(self) -> str:
        """An aggregate."""
        x = self.value("int", 1)
        call = self.pick(["count(*)", f"count({x})", f"sum({x})", f"min({x})", f"max({x})", f"avg({x})",
                          "count(DISTINCT srcIP)"])
        return call if self.draw.random() < 0.7 else f"{call} FILTER (WHERE {self.truth(1)})"

    def where(self, table: str = "") -> str:
        return f" WHERE {self.truth(2, table)}" if self.draw.random() < 0.5 else ""

    def grouped(self, source: str, epoch: str) -> str:
        """A query with groups."""
        keys = self.draw.sample(["srcIP", "protocol", "fin"], self.draw.randint(0, 2))
        having = f" HAVING {self.measure()} IS NOT NULL" if self.draw.random() < 0.3 else ""
        shown = [*keys, *([epoch.rsplit(" AS ", 1)[-1]] if epoch else [])]
        group = ", ".join([*keys, *([epoch] if epoch else [])])
        return (f"SELECT {', '.join([*shown, f'{self.measure()} AS m', f'{self.measure()} AS n'])} FROM {source}"
                f"{self.where()}{f' GROUP BY {group}' if group else ''}{having}")

    def relational(self) -> str:
        """A query whose rows a database finds, too."""
        kinds = self.draw.choices(list(_COLUMNS), k=self.draw.randint(1, 3))
        meet = self.pick(["a.time = b.time", "{a.time/6} = {b.time/6}", "b.time BETWEEN a.time AND a.time + 4",
                          "b.time BETWEEN a.time - 5 AND a.time - 1"])
        on = f"a.srcIP = b.destIP AND {meet}{self.pick(['', ' AND a.len < b.len', ' AND b.protocol = 6'])}"
        same = f"TCP.srcIP = b.destIP AND TCP.time = b.time AND {self.truth(1, 'b.')}"
        listed = ", ".join(f"{self.value(kind, 2, self.pick(['a.', 'b.']))} AS c{at}" for at, kind in enumerate(kinds))
        rows = ", ".join(f"{self.value(kind, 3)} AS c{at}" for at, kind in enumerate(kinds))
        return self.pick([
            f"SELECT {rows} FROM TCP{self.where()}",
            self.grouped("TCP", f"{{time/{self.pick(['2', '6', '25'])}}} AS tb"),
            f"SELECT {listed} FROM TCP a JOIN TCP b ON {on}",
            f"SELECT {rows} FROM TCP WHERE {self.pick(['', 'NOT '])}EXISTS (SELECT 1 FROM TCP b WHERE {same})",
            (f"SELECT srcIP, len, {self.pick(['sum', 'count', 'max'])}(len) OVER (PARTITION BY srcIP ORDER BY time "
             f"RANGE BETWEEN {self.pick(['3', '9'])} PRECEDING AND CURRENT ROW) AS m FROM TCP"),
            (f"SELECT time, rank() OVER (PARTITION BY {self.pick(['srcIP', 'fin'])} ORDER BY time) AS r "
             f"FROM TCP{self.where()}"),
            (f"SELECT time, len, rank() OVER (PARTITION BY epoch, fin ORDER BY len{self.pick(['', ' DESC'])}) AS r "
             "FROM (SELECT {time/6} AS epoch, time, len, fin FROM TCP) QUALIFY r <= 2"),
            f"SELECT {rows} FROM TCP UNION ALL SELECT {rows} FROM TCP{self.where()}",
        ])

    def temporal(self) -> str:
        """A query over windows and lifetimes."""
        return self.pick([
            self.grouped("HOP(TCP, time, 3, 6)", "window_start"),
            self.grouped("TUMBLE(TCP, time, 6, 1)", "window_start"),
            self.grouped("HOP(TCP, time, 5, 2)", "window_start"), self.grouped("SLIDE(TCP, 7)", ""),
            self.grouped("HOLD(TCP)", ""), self.grouped("SESSION(TCP, time, 4)", "window_start"),
            f"SELECT * FROM SLIDE(TCP, 7) a {self.pick(['', 'LEFT ', 'FULL '])}JOIN SLIDE(TCP, 3) b USING (srcIP)",
            "SELECT DISTINCT srcIP, fin FROM SLIDE(TCP, 7)",
            "SELECT srcIP FROM SLIDE(TCP, 5) EXCEPT SELECT destIP FROM SLIDE(TCP, 9) WHERE fin",
            f"SELECT * FROM CHOP(EXTEND(TCP, {self.pick(['4', '11'])}), 5)",
            "SELECT * FROM ASOF_JOIN(TCP, TCP, on => 'srcIP', strict => TRUE)",
        ])


def ours(text: str) -> str:
    """The text as the engine reads it."""
    return re.sub("[{}]", "", text)


def of_a_database(text: str) -> str:
    """The text with epochs that a database rounds down, too."""
    text = re.sub(r"{([a-z.]+)/(\d+)}", r"CAST(floor(\1 / \2) AS BIGINT)", text)
    epoch = re.search(r"(CAST\(floor\(time / \d+\) AS BIGINT\)) AS tb", text)
    return text if epoch is None else text.replace(epoch[0], epoch[1]).replace(" tb,", f" {epoch[0]},", 1)

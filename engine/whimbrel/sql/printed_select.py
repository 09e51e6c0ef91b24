"""A SELECT in parts, to which steps can be added."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SqlBlock:
    """One SELECT.

    Parameters
    ----------
    source : str
        What stands after FROM.
    columns, where, group, having : str
        Its clauses; "" for none.
    whole : str
        The text of a query that is no SELECT, such as UNION ALL; then the others are empty.
    joined : bool
        Whether the source is several tables.
    """

    source: str = ""
    columns: str = "*"
    where: str = ""
    group: str = ""
    having: str = ""
    whole: str = ""
    joined: bool = False

    @property
    def bare(self) -> bool:
        """Whether it is its source, as it is."""
        return self == SqlBlock(self.source)

    @property
    def open(self) -> bool:
        """Whether it may get columns and groups."""
        return not self.whole and not self.joined and not self.group and self.columns == "*"

    def text(self) -> str:
        """The query."""
        if self.whole:
            return self.whole
        clauses = [f"SELECT {self.columns}", f"FROM {self.source}", *(
            f"{word} {clause}" for word, clause in (
                ("WHERE", self.where), ("GROUP BY", self.group), ("HAVING", self.having)) if clause)]
        short = " ".join(clauses)
        return short if len(short) <= 100 else "\n".join(clauses)

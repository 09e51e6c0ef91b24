"""The layout of a dashboard, as rows of view names."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whimbrel.errors import PlanError, near_match

FilePath = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Layout:
    """Rows of views from top to bottom, by their names; views of one row share its width.

    Parameters
    ----------
    rows : tuple of tuple of str

    Examples
    --------
    >>> Layout.of(["delays", "flights", "newest"])
    Layout(rows=(('delays',), ('flights', 'newest')))
    >>> Layout.of(["delays", "flights"], [["flights", "delays"]])
    Layout(rows=(('flights', 'delays'),))
    """

    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, names: Sequence[str], rows: Iterable[str | Iterable[str]] | None = None) -> Layout:
        """A layout of these views; unless rows are given the first view spans the page, others go in pairs.

        Raises
        ------
        PlanError
            When a row names a view that there is not, or one is named twice.
        """
        if rows is None:
            rest = list(names[1:])
            pairs = [tuple(rest[at:at + 2]) for at in range(0, len(rest), 2)]
            return cls((*((name,) for name in names[:1]), *pairs))
        given = tuple((row,) if isinstance(row, str) else tuple(row) for row in rows)
        count = Counter(name for row in given for name in row)
        for name, times in count.items():
            if name not in names:
                raise PlanError(f"Unknown view in rows: {name!r}.", where=f"rows={[list(row) for row in given]}",
                                hint=near_match(name, names, noun="view"))
            if times > 1:
                raise PlanError(f"rows must name a view once, and name {name!r} {times} times.", where="rows=",
                                hint="Remove the duplicates.")
        return cls(tuple(row for row in given if row))

    @classmethod
    def load(cls, path: FilePath, names: Sequence[str]) -> Layout:
        """Read what :meth:`save` wrote, for these views.

        Raises
        ------
        PlanError
            When the file is not a layout, or a layout of other views.
        """
        try:
            rows = json.loads(Path(path).read_text(encoding="utf-8"))["rows"]
            given = [[str(name) for name in row] for row in rows]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PlanError(f"Cannot read {os.fspath(path)!r} as a layout: {error}", where=f"rows={os.fspath(path)!r}",
                            hint="Write a layout with Dashboard.save(path).") from error
        return cls.of(names, given)

    def save(self, path: FilePath) -> None:
        """Write it down as JSON."""
        rows = ",\n".join(f"  {json.dumps(list(row), ensure_ascii=False)}" for row in self.rows)
        Path(path).write_text(f'{{"rows": [\n{rows}\n]}}\n', encoding="utf-8")

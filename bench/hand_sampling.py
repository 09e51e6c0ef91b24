"""Estimates as one makes them by hand with Polars: larger and larger samples, until an interval is narrow enough.

Of a table rows are sampled, of a Parquet file row groups, since nothing smaller can be read alone; then these are the
units whose variance counts. The interval is that for one update at 95% without replacement (normal, widened for few row
groups as Student's t is). It is checked after every sample, which it does not allow: that favours it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import polars.selectors as cs
import pyarrow.parquet as pq

FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_NORMAL = 1.96
_FEWEST_GROUPS = 5
"""Row groups, for an interval from their variance."""


@dataclass(frozen=True)
class Asked:
    """A count, sums and means by keys.

    Attributes
    ----------
    keys : tuple of str
    counted : str
        What the number of rows is called.
    sums, means : dict of str to Polars expression
    kept : Polars expression
        Which rows count.
    """

    keys: tuple[str, ...]
    counted: str
    sums: dict[str, pl.Expr]
    means: dict[str, pl.Expr]
    kept: pl.Expr | None = None

    def exact(self, rows: pl.LazyFrame) -> pl.DataFrame:
        """Of all rows."""
        found = self._rows(rows).group_by(*self.keys).agg(
            pl.len().cast(pl.Int64).alias(self.counted), **{name: value.sum() for name, value in self.sums.items()},
            **{name: value.mean() for name, value in self.means.items()})
        return found.with_columns(cs.categorical().cast(pl.String)).collect()

    def samples(self, source: pl.DataFrame | Path) -> Iterator[tuple[float, pl.DataFrame]]:
        """Larger and larger samples, as shares, and their estimates.

        Each has a column ``name_off``, half of its interval as a share of it. The last is exact.
        """
        for fraction in FRACTIONS:
            found = (self._of_rows(source, fraction) if isinstance(source, pl.DataFrame)
                     else self._of_row_groups(source, fraction))
            if found is not None:
                yield fraction, found
        lazy = source.lazy() if isinstance(source, pl.DataFrame) else pl.scan_parquet(source)
        yield 1.0, self.exact(lazy).with_columns(pl.lit(0.0).alias(f"{name}_off")
                                                 for name in (self.counted, *self.sums, *self.means))

    def _of_rows(self, table: pl.DataFrame, fraction: float) -> pl.DataFrame:
        sample = table.sample(fraction=fraction, seed=1)
        drawn = sample.height
        found = self._rows(sample.lazy()).group_by(*self.keys).agg(
            pl.len().cast(pl.Float64).alias(self.counted), pl.len().alias(f"{self.counted}_squares"),
            **{name: value.sum() for name, value in self.sums.items()},
            **{f"{name}_squares": (value.cast(pl.Float64) ** 2).sum() for name, value in self.sums.items()},
            **{name: value.mean() for name, value in self.means.items()},
            **{f"{name}_error": value.std() / value.len().sqrt() for name, value in self.means.items()})
        wide = _NORMAL * (1 - drawn / table.height) ** 0.5
        return self._said(found, table.height / drawn, {
            **{name: wide * self._spread(name, drawn) for name in (self.counted, *self.sums)},
            **{name: wide * pl.col(f"{name}_error") for name in self.means}})

    def _of_row_groups(self, path: Path, fraction: float) -> pl.DataFrame | None:
        """None where there are too few for an interval."""
        file = pq.ParquetFile(path)
        many, drawn = file.num_row_groups, round(fraction * file.num_row_groups)
        if drawn < _FEWEST_GROUPS:
            return None
        chosen = np.random.default_rng(1).permutation(many)[:drawn].tolist()
        read = pl.from_arrow(file.read_row_groups(chosen, columns=sorted(self._columns)))
        assert isinstance(read, pl.DataFrame)
        sizes = [file.metadata.row_group(number).num_rows for number in chosen]
        read = read.with_columns(unit=pl.Series(np.repeat(np.arange(drawn), sizes)))
        each = self._rows(read.lazy()).group_by("unit", *self.keys).agg(
            pl.len().cast(pl.Float64).alias(self.counted),
            **{name: value.sum().cast(pl.Float64) for name, value in (self.sums | self.means).items()})
        here = pl.col(self.counted)
        mean = {name: pl.col(name).sum() / here.sum() for name in self.means}
        found = each.group_by(*self.keys).agg(
            *(pl.col(name).sum() for name in (self.counted, *self.sums)),
            **{f"{name}_squares": (pl.col(name) ** 2).sum() for name in (self.counted, *self.sums)}, **mean,
            **{f"{name}_error": ((pl.col(name) - here * mean[name]) ** 2).sum().sqrt() / here.sum()
               for name in self.means})
        wide = _student(drawn - 1) * (1 - drawn / many) ** 0.5
        return self._said(found, file.metadata.num_rows / sum(sizes), {
            **{name: wide * self._spread(name, drawn) for name in (self.counted, *self.sums)},
            **{name: wide * (drawn / (drawn - 1)) ** 0.5 * pl.col(f"{name}_error") for name in self.means}})

    def _rows(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows if self.kept is None else rows.filter(self.kept)

    @property
    def _columns(self) -> set[str]:
        said = [*self.sums.values(), *self.means.values(), *([] if self.kept is None else [self.kept])]
        return {*self.keys, *(name for each in said for name in each.meta.root_names())}

    @staticmethod
    def _spread(name: str, drawn: int) -> pl.Expr:
        """The standard error of a sum; units that have nothing of the group add 0 to it."""
        return ((pl.col(f"{name}_squares") - pl.col(name) ** 2 / drawn) * drawn / (drawn - 1)).sqrt()

    def _said(self, found: pl.LazyFrame, scale: float, half: dict[str, pl.Expr]) -> pl.DataFrame:
        said = found.with_columns((value / pl.col(name)).alias(f"{name}_off") for name, value in half.items())
        return said.with_columns(cs.categorical().cast(pl.String),
                                 *(pl.col(name) * scale for name in (self.counted, *self.sums))).collect()


def _student(degrees: int) -> float:
    """The quantile for 95%, by its expansion; within 2% from four degrees on."""
    z = _NORMAL
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)

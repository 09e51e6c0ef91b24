"""Interface of sources that evaluate a subplan by time ranges."""

from __future__ import annotations

from abc import abstractmethod

from whimbrel.batch import Schema
from whimbrel.plan import Source


class SubplanSource(Source):
    """Results of a part of a query, as a source: one row of its log may make many rows of it, or none."""

    @property
    @abstractmethod
    def condition_schema(self) -> Schema:
        """The columns that conditions on its blocks may use."""

    @abstractmethod
    def max_of_group(self, keys: frozenset[str]) -> float:
        """The largest number of rows with the same values of these columns in one range; infinite: not known."""

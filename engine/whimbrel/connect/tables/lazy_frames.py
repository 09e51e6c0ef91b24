"""Lazy frames of Polars as tables."""

from __future__ import annotations

import sys
from typing import Any

from whimbrel.errors import SourceError


def collected(data: Any, where: str) -> Any:
    """Run the query of a lazy frame of Polars, and return its DataFrame; other data as they are.

    Raises
    ------
    SourceError
        When the query fails.
    """
    polars: Any = sys.modules.get("polars")  # a lazy frame exists only after this import
    if polars is None or not isinstance(data, polars.LazyFrame):
        return data
    try:
        return data.collect()
    except (polars.exceptions.PolarsError, OSError) as error:
        raise SourceError(f"Cannot run the query of this LazyFrame: {str(error).splitlines()[0]}", where=where,
                          hint="Correct the query of the LazyFrame.") from error

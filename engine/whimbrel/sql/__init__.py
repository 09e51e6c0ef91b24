"""SQL as text for streams: each clause calls methods of :class:`whimbrel.Stream`."""

import sys
from types import ModuleType
from typing import Any

from whimbrel.sql.interface import SqlInterface, sql
from whimbrel.sql.tables import reads_tables_only

__all__ = ["SqlInterface", "reads_tables_only", "script", "sql"]

script = sql.script


class _CallableModule(ModuleType):
    """The package as ``wb.sql``, where an import has put it in place of the function."""

    def __call__(self, text: str, /, **options: Any) -> Any:
        return sql(text, **options)


sys.modules[__name__].__class__ = _CallableModule

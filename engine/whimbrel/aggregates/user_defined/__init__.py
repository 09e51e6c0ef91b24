"""User-defined aggregates: Python functions, compiled when results stay identical."""

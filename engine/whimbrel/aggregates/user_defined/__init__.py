"""User-defined aggregates: Python functions as aggregates, compiled where that changes no result."""

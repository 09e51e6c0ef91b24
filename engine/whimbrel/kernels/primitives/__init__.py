"""Handwritten loops in plain Python, one concept per file. They run as they are; `compile` makes them fast."""

"""Handwritten loops in plain Python, one concept per file.

They run interpreted; `compile` makes them fast.
"""

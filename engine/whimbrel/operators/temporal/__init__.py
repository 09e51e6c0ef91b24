"""Operators over functions of time."""

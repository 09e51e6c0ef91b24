"""Estimates that allow for late rows."""

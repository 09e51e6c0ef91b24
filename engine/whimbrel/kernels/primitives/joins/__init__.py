"""Loops that match rows of two streams."""

"""Loops over the bytes of string columns."""

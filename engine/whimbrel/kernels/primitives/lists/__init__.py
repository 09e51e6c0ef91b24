"""Loops over the items of list columns."""

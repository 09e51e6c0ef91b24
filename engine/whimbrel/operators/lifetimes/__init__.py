"""Operators that change lifetimes."""

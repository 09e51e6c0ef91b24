"""Loops that filter and scatter rows."""

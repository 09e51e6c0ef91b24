"""Operators on the samples of signals."""

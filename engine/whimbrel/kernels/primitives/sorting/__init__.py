"""Loops that sort times, measure disorder and merge sorted runs."""

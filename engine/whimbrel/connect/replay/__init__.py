"""Replay a log at its arrival times, by a simulated clock."""

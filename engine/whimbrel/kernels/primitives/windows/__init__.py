"""Loops over panes, hopping windows, sliding windows and sessions."""

"""Serve a script or notebook as a dashboard with a token."""

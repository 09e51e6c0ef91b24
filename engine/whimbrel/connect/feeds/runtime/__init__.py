"""Shared parts of all feeds: connections, buffers, options, dead letters, status."""

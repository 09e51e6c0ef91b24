"""Polled pages and server-sent events as feeds."""

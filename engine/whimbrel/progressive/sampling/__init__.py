"""Sampling of blocks: choice, order, and statistics of unread blocks."""

"""Hash tables and memory prefetch."""

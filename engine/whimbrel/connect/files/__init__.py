"""Files as sources: paths, Parquet, and one schema for many files."""

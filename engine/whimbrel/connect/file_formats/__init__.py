"""Files of other formats than Parquet as sources: CSV, JSON lines, Arrow IPC."""

"""Reports in files: bulk counting with DuckDB, and files of externally randomized answers."""

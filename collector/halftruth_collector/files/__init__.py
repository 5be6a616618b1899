"""Bulk counting of files of reports with DuckDB, and import of externally randomized answers."""

"""Reports in files, counted by DuckDB on one machine or by the workers of a cluster."""

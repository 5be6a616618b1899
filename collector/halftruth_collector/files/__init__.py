"""Reports in files: counted by DuckDB, or read where respondents randomized answers themselves."""

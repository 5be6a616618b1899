"""Survey files from other sources: names, bins and orders of answers, and tables of records."""

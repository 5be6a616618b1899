"""What a collector keeps: one module for each kind of thing, the database, and its files."""

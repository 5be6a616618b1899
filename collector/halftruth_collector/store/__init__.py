"""Database, tables, migrations, back-ups: what a collector keeps, and who did what to it."""

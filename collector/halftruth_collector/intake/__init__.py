"""A report's way in: open, check, batch, count."""

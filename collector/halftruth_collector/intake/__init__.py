"""Intake of reports in five steps: read, open, check, group commit, count."""

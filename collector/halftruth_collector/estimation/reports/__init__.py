"""Measures and models of the reports themselves, where they are records, and what these imply."""

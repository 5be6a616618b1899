"""Surveys as they are written: the text of a file, and what is changed in it."""

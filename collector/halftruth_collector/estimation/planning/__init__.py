"""Precision of estimates before there are reports, and the mechanism that a survey should take."""

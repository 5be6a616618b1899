"""Comparison of anonymized and randomized releases: l-diversity, anatomy, randomized response."""

"""Anonymized releases beside randomized ones: l-diversity, anatomy, randomized response."""

"""Demonstration: send CENSUS through the real client over HTTP, and estimate itemsets."""

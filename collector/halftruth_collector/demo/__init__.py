"""The demonstration: CENSUS through the real client, over HTTP, and back as itemsets."""

"""The HTTP calls, one blueprint for each audience."""

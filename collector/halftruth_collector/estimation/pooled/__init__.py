"""Estimation from reports about views, pooled over all views that ask about the same."""

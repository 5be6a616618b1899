"""Estimation from reports about views, pooled over all views with the same questions."""

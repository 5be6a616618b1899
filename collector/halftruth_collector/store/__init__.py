"""The store: surveys, counts of perturbed reports, and tokens, in one SQL database."""

from .store import Store

__all__ = ["Store"]

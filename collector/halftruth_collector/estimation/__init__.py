"""Estimates: pure functions of a survey and its counts, usable without a server."""

from ..counts import Counts
from .estimator import Estimator
from .itemsets import Itemsets
from .rules import Rules

__all__ = ["Counts", "Estimator", "Itemsets", "Rules"]

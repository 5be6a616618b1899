"""Channels: FRAPP's matrix A as a structured operator, from true tables to tables of reports."""

from .base import Channel, MarginMoments, Operator, WeightMoments
from .dense import Dense
from .kronecker import Kronecker
from .uniform_mixture import UniformMixture

__all__ = [
    "Channel",
    "Dense",
    "Kronecker",
    "MarginMoments",
    "Operator",
    "UniformMixture",
    "WeightMoments",
]

"""Channels: the perturbation matrix A of FRAPP as a structured linear operator."""

from .base import Channel, MarginMoments, Operator, WeightMoments
from .dense import Dense
from .kronecker import Kronecker
from .subset_response import PairResponse, SubsetResponse
from .uniform_mixture import UniformMixture

__all__ = [
    "Channel",
    "Dense",
    "Kronecker",
    "MarginMoments",
    "Operator",
    "PairResponse",
    "SubsetResponse",
    "UniformMixture",
    "WeightMoments",
]

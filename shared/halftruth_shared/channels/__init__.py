"""Channels: the perturbation matrix A of FRAPP as a structured linear operator."""

from .base import Channel, MarginMoments, Operator, WeightMoments
from .dense import Dense
from .kronecker import Kronecker
from .of_responses import channel_of
from .subset_response import PairChannel, SubsetChannel
from .uniform_mixture import UniformMixture

__all__ = [
    "Channel",
    "Dense",
    "Kronecker",
    "MarginMoments",
    "Operator",
    "PairChannel",
    "SubsetChannel",
    "UniformMixture",
    "WeightMoments",
    "channel_of",
]

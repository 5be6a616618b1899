"""Mechanisms: how a record is perturbed, one module for each.

To add one, write its module (parameters, sampler, channel, amplification) and name it here.
"""

from .base import MAX_CONDITION, Mechanism, Parameters, ReportShape
from .distortion_matrices import DistortionMatrices, DistortionMatricesParameters
from .gamma_diagonal import GammaDiagonal, GammaDiagonalParameters
from .randomized_gamma_diagonal import (
    RandomizedGammaDiagonal,
    RandomizedGammaDiagonalParameters,
)
from .randomized_response import RandomizedResponse, RandomizedResponseParameters

#: Every way to write a mechanism, told apart by its ``kind``.
AnyParameters = (
    GammaDiagonalParameters
    | RandomizedGammaDiagonalParameters
    | RandomizedResponseParameters
    | DistortionMatricesParameters
)

__all__ = [
    "MAX_CONDITION",
    "AnyParameters",
    "DistortionMatrices",
    "GammaDiagonal",
    "Mechanism",
    "Parameters",
    "RandomizedGammaDiagonal",
    "RandomizedResponse",
    "ReportShape",
]

"""Mechanisms: how a record is perturbed, one module for each.

To add one, write its module (parameters, views with their channels, sampler) and name it in
`MECHANISMS`; nothing else knows which ones there are.
"""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from .base import Mechanism, Parameters, Perturbation, Provable, Randomizer, View
from .distortion_matrices import DistortionMatrices
from .gamma_diagonal import GammaDiagonal
from .randomized_gamma_diagonal import RandomizedGammaDiagonal
from .randomized_response import RandomizedResponse
from .report_space import ReportSpace
from .split_questionnaire import SplitQuestionnaire, ViewClass

#: Every kind of mechanism that surveys can have.
MECHANISMS: tuple[type[Mechanism], ...] = (
    GammaDiagonal,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    DistortionMatrices,
    SplitQuestionnaire,
)

if TYPE_CHECKING:
    AnyParameters = Parameters
else:
    #: The union of all ways to write a mechanism, distinguished by their ``kind``.
    AnyParameters = reduce(or_, [mechanism.written_as for mechanism in MECHANISMS])

__all__ = [
    "MECHANISMS",
    "AnyParameters",
    "DistortionMatrices",
    "GammaDiagonal",
    "Mechanism",
    "Parameters",
    "Perturbation",
    "Provable",
    "RandomizedGammaDiagonal",
    "RandomizedResponse",
    "Randomizer",
    "ReportSpace",
    "SplitQuestionnaire",
    "View",
    "ViewClass",
]

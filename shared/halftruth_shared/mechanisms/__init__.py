"""Perturbation mechanisms, one module for each.

To add a mechanism, write its module (parameters, and views with their responses) and list it in
`MECHANISMS`. No other place enumerates the mechanisms.
"""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from .base import Mechanism, Parameters, Perturbation, ProvableAnswer, Randomizer, View
from .distortion_matrices import DistortionMatrices
from .gamma_diagonal import GammaDiagonal
from .randomized_gamma_diagonal import RandomizedGammaDiagonal
from .randomized_response import RandomizedResponse
from .report_space import ReportSpace
from .split_questionnaire import SplitQuestionnaire, ViewClass, WantedTables

#: Every kind of mechanism that a survey can use.
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
    #: Union of the parameters of all mechanisms, distinguished by their ``kind``.
    AnyParameters = reduce(or_, [mechanism.parameters_type for mechanism in MECHANISMS])

__all__ = [
    "MECHANISMS",
    "AnyParameters",
    "DistortionMatrices",
    "GammaDiagonal",
    "Mechanism",
    "Parameters",
    "Perturbation",
    "ProvableAnswer",
    "RandomizedGammaDiagonal",
    "RandomizedResponse",
    "Randomizer",
    "ReportSpace",
    "SplitQuestionnaire",
    "View",
    "ViewClass",
    "WantedTables",
]

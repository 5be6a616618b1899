"""Mechanisms: how a record is perturbed, one module for each.

To add one, write its module (parameters, samplers, amplification, reconstruction) and register it
here.
"""

from .base import MAX_CONDITION, AnswerAmplification, Mechanism, Parameters, Provable
from .distortion_matrices import DistortionMatrices
from .gamma_diagonal import GammaDiagonal
from .randomized_gamma_diagonal import RandomizedGammaDiagonal
from .randomized_response import RandomizedResponse
from .reconstruction import Likelihood, Margins, Reconstruction, TableEstimate
from .records import RecordMechanism, RecordReconstruction
from .registry import any_parameters, kinds, register
from .report_space import ReportSpace
from .split_questionnaire import SplitQuestionnaire, ViewClass
from .variances import Target, UnitVariance

register(
    GammaDiagonal,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    DistortionMatrices,
    SplitQuestionnaire,
)

__all__ = [
    "MAX_CONDITION",
    "AnswerAmplification",
    "DistortionMatrices",
    "GammaDiagonal",
    "Likelihood",
    "Margins",
    "Mechanism",
    "Parameters",
    "Provable",
    "RandomizedGammaDiagonal",
    "RandomizedResponse",
    "Reconstruction",
    "RecordMechanism",
    "RecordReconstruction",
    "ReportSpace",
    "SplitQuestionnaire",
    "TableEstimate",
    "Target",
    "UnitVariance",
    "ViewClass",
    "any_parameters",
    "kinds",
    "register",
]

"""Schemas, mechanisms, channels, surveys and messages of client and collector."""

from .attribute import Attribute
from .channels import Channel, Dense, Kronecker, UniformMixture
from .errors import (
    DomainTooLarge,
    EstimateError,
    HalftruthError,
    KeyFileError,
    NoReports,
    ParameterError,
    RecordError,
    ReportError,
    SchemaError,
    SignatureError,
    SurveyError,
)
from .mechanisms import (
    DistortionMatrices,
    GammaDiagonal,
    Mechanism,
    Perturbation,
    RandomizedGammaDiagonal,
    RandomizedResponse,
    ReportSpace,
    SplitQuestionnaire,
    ViewClass,
)
from .privacy import (
    amplification_for_breach,
    epsilon,
    worst_case_posterior,
)
from .protection import Protection
from .protocol.relay import Relay
from .schema import Schema
from .series import Series
from .survey import Survey, read_survey

__all__ = [
    "Attribute",
    "Channel",
    "Dense",
    "DistortionMatrices",
    "DomainTooLarge",
    "EstimateError",
    "GammaDiagonal",
    "HalftruthError",
    "KeyFileError",
    "Kronecker",
    "Mechanism",
    "NoReports",
    "ParameterError",
    "Perturbation",
    "Protection",
    "RandomizedGammaDiagonal",
    "RandomizedResponse",
    "RecordError",
    "Relay",
    "ReportError",
    "ReportSpace",
    "Schema",
    "SchemaError",
    "Series",
    "SignatureError",
    "SplitQuestionnaire",
    "Survey",
    "SurveyError",
    "UniformMixture",
    "ViewClass",
    "amplification_for_breach",
    "epsilon",
    "read_survey",
    "worst_case_posterior",
]

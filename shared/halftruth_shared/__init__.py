"""What client and collector share: schema, mechanisms, channels, surveys and messages."""

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
    RandomizedGammaDiagonal,
    RandomizedResponse,
    ReportShape,
)
from .privacy import (
    amplification_for_breach,
    amplification_for_epsilon,
    epsilon,
    worst_case_posterior,
)
from .schema import Attribute, Schema
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
    "RandomizedGammaDiagonal",
    "RandomizedResponse",
    "RecordError",
    "ReportError",
    "ReportShape",
    "Schema",
    "SchemaError",
    "SignatureError",
    "Survey",
    "SurveyError",
    "UniformMixture",
    "amplification_for_breach",
    "amplification_for_epsilon",
    "epsilon",
    "read_survey",
    "worst_case_posterior",
]

"""Schemas, mechanisms, channels, surveys and messages of client and collector.

Channels, which need NumPy, and `Protection` are imported at their first use, since a client that
sends reports uses neither.
"""

from typing import TYPE_CHECKING, Any

from .attribute import Attribute
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
from .extras import import_extra
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
from .protocol.relay import Relay
from .schema import Schema
from .series import Series
from .survey import Survey, read_survey

if TYPE_CHECKING:
    from .channels import Channel, Dense, Kronecker, UniformMixture
    from .protection import Protection

#: Modules of the names that are imported at their first use.
_LATER = {
    "Channel": "halftruth_shared.channels",
    "Dense": "halftruth_shared.channels",
    "Kronecker": "halftruth_shared.channels",
    "Protection": "halftruth_shared.protection",
    "UniformMixture": "halftruth_shared.channels",
}

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


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_extra(_LATER[name], name), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

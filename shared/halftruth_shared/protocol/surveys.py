"""Messages about the surveys that a collector publishes."""

from typing import Annotated, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta

from .base import Digest, Message
from .terms import Signature, Terms


def survey_path(survey: str, *rest: str) -> str:
    """Return the path of a survey or of its subresource; the id is escaped."""
    return "/".join(["/v1/surveys", quote(survey, safe=""), *rest])


Status = Annotated[
    Literal["planned", "open", "closed"],
    Meta(description="Whether reports are accepted: later, now, or no more."),
]


class PublishedSurvey(Message, frozen=True, kw_only=True):
    """Survey in canonical JSON with its digest, terms and signature."""

    survey: Annotated[
        msgspec.Raw,
        Meta(
            description="The survey in canonical JSON, with all parameters of its mechanism"
            " resolved."
        ),
    ]
    digest: Digest
    status: Status = "open"
    closed_because: Annotated[
        Literal["operator", "deadline", "quota", "relay"] | None,
        Meta(
            description="Why it is closed: by its operator, by its deadline, by its quota, or"
            " because its relay accepts no more reports."
        ),
    ] = None
    terms: Terms = Terms()
    signature: Signature | None = None


class RelayedSurvey(Message, frozen=True, kw_only=True):
    """A survey that is registered at a relay."""

    id: str
    digest: Digest
    status: Annotated[
        Literal["open", "closed"], Meta(description="Whether new reports are accepted.")
    ]


class SurveySummary(Message, frozen=True, kw_only=True):
    """Entry of the list of surveys."""

    id: str
    title: str
    digest: Digest
    status: Status


class SurveyList(Message, frozen=True, kw_only=True):
    """List of the surveys of a collector, without unlisted ones."""

    surveys: list[SurveySummary]

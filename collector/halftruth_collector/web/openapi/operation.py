"""What is said of a call: who may make it, what it takes, and what may come of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from halftruth_shared import (
    DomainTooLarge,
    EstimateError,
    HalftruthError,
    ParameterError,
    SchemaError,
)
from halftruth_shared.protocol.base import Request

from ...access.tokens import Role
from ...analyses import Analysis
from ...errors import (
    Forbidden,
    MalformedRequest,
    NotAcceptable,
    StoreUnavailable,
    TooFewReports,
    TooLarge,
    Unauthorized,
    UnknownSurvey,
    UnknownToken,
)

Audience = Literal["respondents", "analysts", "planning", "operators", "operations"]

#: What each group of calls is for, in the order in which they are described.
AUDIENCES: dict[Audience, str] = {
    "respondents": "Fetch surveys and send reports, from a form or a program that asks people.",
    "analysts": "Estimates from the counts of one survey, each with its bounds.",
    "planning": "What a survey will tell, before any field work.",
    "operators": "Publish surveys, see how they do, and end them; tokens, keys and the audit log.",
    "operations": "Keep the collector running.",
}

#: Whose token is enough where one of a role is needed, in words.
CALLERS: dict[Role | None, str] = {
    None: "anyone",
    "analyst": "an analyst or an operator",
    "operator": "an operator",
    "monitor": "a monitor or an operator",
}


@dataclass(frozen=True)
class Operation:
    """One call, with its path as OpenAPI writes it.

    Attributes
    ----------
    answer : type or str
        Message type, or media type of an answer that is no message.
    role : str, optional
        Role that is needed, by default none.
    body : tuple of type
        Any one of these; empty where there is no body.
    problems : tuple of type
        Errors of this call besides those that follow from the other attributes.
    analysis : Analysis, optional
        What it asks.
    parameters : type
        What its query parameters stand for, unless it asks an analysis.
    """

    id: str
    method: str
    path: str
    audience: Audience
    summary: str
    answer: type | str
    description: str = ""
    role: Role | None = None
    body: tuple[type, ...] = ()
    status: int = 200
    problems: tuple[type[HalftruthError], ...] = ()
    analysis: Analysis[Any, Any] | None = None
    parameters: type[Request] = Request

    @property
    def query(self) -> type[Request]:
        """What the query parameters stand for."""
        return self.parameters if self.analysis is None else self.analysis.query

    @property
    def errors(self) -> tuple[type[HalftruthError], ...]:
        """Every error that this call can answer with."""
        return tuple(dict.fromkeys([*self._implied(), *self.problems]))

    def _implied(self) -> Iterator[type[HalftruthError]]:
        # A query parameter that nobody knows is refused everywhere.
        yield ParameterError
        if self.body:
            yield from (MalformedRequest, TooLarge)
        if self.role is not None:
            yield from (Unauthorized, Forbidden)
        if "{survey_id}" in self.path:
            yield UnknownSurvey
        if "{token_id}" in self.path:
            yield UnknownToken
        # Whoever asks for a survey or brings a token is looked up.
        if self.audience != "operations" or self.role is not None:
            yield StoreUnavailable
        if self.analysis is not None:
            yield from (NotAcceptable, TooFewReports, EstimateError, SchemaError, DomainTooLarge)

"""Every call of the HTTP interface: who may make it, what it takes, and what may come of it.

Those of analyses follow from their registry; the few others are declared here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from halftruth_shared import (
    DomainTooLarge,
    EstimateError,
    HalftruthError,
    ParameterError,
    ReportError,
    SchemaError,
    SurveyError,
)
from halftruth_shared.analyses.plan import PlanRequest, PlanResult
from halftruth_shared.errors import NoReports
from halftruth_shared.protocol.base import Request
from halftruth_shared.protocol.reports import Receipt, ReportBatch, SealedBatch
from halftruth_shared.protocol.surveys import PublishedSurvey, SurveyList
from halftruth_shared.protocol.terms import SignedTerms
from halftruth_shared.survey import document_type

from ...access.tokens import Role
from ...analyses import ANALYSES, Analysis
from ...errors import (
    Forbidden,
    InvitationRefused,
    MalformedRequest,
    NotAcceptable,
    SchemaOutdated,
    SignatureRefused,
    StaleDigest,
    StoreUnavailable,
    SurveyClosed,
    SurveyExists,
    TooLarge,
    TooManyReports,
    Unauthorized,
    UnknownSurvey,
)
from ..routes.operations import Health

Audience = Literal["respondents", "analysts", "planning", "operators", "operations"]

#: What each group of calls is for, in the order in which they are described.
AUDIENCES: dict[Audience, str] = {
    "respondents": "Fetch surveys and send reports, from a form or a program that asks people.",
    "analysts": "Estimates from the counts of one survey, each with its bounds.",
    "planning": "What a survey will tell, before any field work.",
    "operators": "Publish and close surveys, and say how their reports are taken.",
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

    @property
    def query(self) -> type[Request]:
        """What the query parameters stand for."""
        return Request if self.analysis is None else self.analysis.query

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
        # Whoever asks for a survey or brings a token is looked up.
        if self.audience != "operations" or self.role is not None:
            yield StoreUnavailable
        if self.analysis is not None:
            yield from (NotAcceptable, NoReports, EstimateError, SchemaError, DomainTooLarge)


def _of_analysis(analysis: Analysis[Any, Any]) -> Operation:
    return Operation(
        id="get" + "".join(word.capitalize() for word in analysis.name.split("-")),
        method="GET",
        path=f"/v1/surveys/{{survey_id}}/{analysis.name}",
        audience="analysts",
        summary=analysis.title,
        answer=analysis.result,
        description=analysis.query.__doc__ or "",
        role="analyst",
        analysis=analysis,
    )


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "listSurveys",
        "GET",
        "/v1/surveys",
        "respondents",
        "List the surveys",
        SurveyList,
        "Those that are unlisted are not among them, though anyone can fetch and answer them.",
    ),
    Operation(
        "getSurvey",
        "GET",
        "/v1/surveys/{survey_id}",
        "respondents",
        "Fetch a survey",
        PublishedSurvey,
        "A client computes the digest from the survey itself, and refuses one that protects less"
        " than its caller asked for.",
    ),
    Operation(
        "addReports",
        "POST",
        "/v1/surveys/{survey_id}/reports",
        "respondents",
        "Send reports",
        Receipt,
        "Counts all reports of the batch or none, each exactly once, and answers once the counts"
        " are durable. Sending the same report again is safe. A survey with a sealing key takes"
        " sealed reports only, and any other takes plain ones only. Where no invitation is asked"
        " for, the reports from one address are limited.",
        body=(ReportBatch, SealedBatch),
        status=202,
        problems=(
            SurveyClosed,
            StaleDigest,
            ReportError,
            InvitationRefused,
            TooManyReports,
        ),
    ),
    *map(_of_analysis, ANALYSES.values()),
    Operation(
        "planSurvey",
        "POST",
        "/v1/plan",
        "planning",
        "Foretell the precision of a survey",
        PlanResult,
        "Reads nothing of the store: the survey need not have been published.",
        role="analyst",
        body=(PlanRequest,),
        problems=(SurveyError, SchemaError, DomainTooLarge),
    ),
    Operation(
        "publishSurvey",
        "POST",
        "/v1/surveys",
        "operators",
        "Publish a survey",
        PublishedSurvey,
        "Replaces a survey of the same id that has no report yet. Publishing the very same survey"
        " again changes nothing.",
        role="operator",
        body=(document_type(),),
        status=201,
        problems=(SurveyExists, SurveyError, SchemaError, DomainTooLarge),
    ),
    Operation(
        "closeSurvey",
        "POST",
        "/v1/surveys/{survey_id}/close",
        "operators",
        "Close a survey",
        PublishedSurvey,
        "It takes no more reports. Closing it again changes nothing.",
        role="operator",
    ),
    Operation(
        "setTerms",
        "PUT",
        "/v1/surveys/{survey_id}/terms",
        "operators",
        "Say how reports are taken",
        PublishedSurvey,
        "From now on, each report needs an invitation or not, and is sealed to a key of this"
        " collector or not. The signature is the operator's, of the survey's digest with these"
        " terms.",
        role="operator",
        body=(SignedTerms,),
        problems=(SignatureRefused,),
    ),
    Operation(
        "getHealth",
        "GET",
        "/healthz",
        "operations",
        "Whether the process lives",
        Health,
        "It does not look at the database.",
    ),
    Operation(
        "getReadiness",
        "GET",
        "/readyz",
        "operations",
        "Whether requests may be sent here",
        Health,
        "The database answers, its tables are current, and the process goes on.",
        problems=(StoreUnavailable, SchemaOutdated),
    ),
    Operation(
        "getMetrics",
        "GET",
        "/metrics",
        "operations",
        "Numbers for Prometheus",
        "text/plain",
        role="monitor",
    ),
    Operation(
        "getDescription",
        "GET",
        "/openapi.json",
        "operations",
        "This description",
        "application/json",
    ),
)

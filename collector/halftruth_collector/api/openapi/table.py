"""Every call of the HTTP interface: who may make it, what it takes, and what may come of it.

This table is the one source of ``/openapi.json`` and of the page ``/docs``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from halftruth_shared import (
    DomainTooLarge,
    EstimateError,
    HalftruthError,
    ParameterError,
    ReportError,
    SchemaError,
    SurveyError,
)
from halftruth_shared.classifiers import ClassifierResult
from halftruth_shared.errors import NoReports
from halftruth_shared.messages import (
    AssociationsQuery,
    AssociationsResult,
    ClassifierQuery,
    CountsResult,
    ItemsetsQuery,
    ItemsetsResult,
    LoglinearQuery,
    LoglinearResult,
    MeasuresQuery,
    MeasuresResult,
    PartialQuery,
    PartialResult,
    PlanRequest,
    PlanResult,
    PublishedSurvey,
    RandomizedQuery,
    RandomizedResult,
    Receipt,
    ReportBatch,
    Request,
    RuleQuery,
    RuleResult,
    RulesQuery,
    RulesResult,
    SealedBatch,
    SignedTerms,
    SurveyList,
    TableQuery,
    TableResult,
)
from halftruth_shared.survey import SurveyDocument

from ...errors import (
    Forbidden,
    InvitationRefused,
    MalformedRequest,
    ReportIdReused,
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
from ...store.tokens import Role
from ..operations import Health

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

#: The message type of a body or an answer, or the media type of one that is no message.
Content = type | str


@dataclass(frozen=True)
class Operation:
    """One call.

    Attributes
    ----------
    id : str
        Its name, different from every other.
    method, path : str
        The path as OpenAPI writes it, ``{survey_id}`` for a parameter.
    audience : str
    summary, description : str
    answer : type or str
        Message type, or media type of an answer that is no message.
    role : str, optional
        Role that is needed, by default none.
    query : type
        The query parameters; by default none are taken.
    body : tuple of type
        Any one of these; empty where there is no body.
    status : int
        Of the answer.
    problems : tuple of type
        Errors of this call besides those that follow from the other attributes.
    """

    id: str
    method: str
    path: str
    audience: Audience
    summary: str
    answer: Content
    description: str = ""
    role: Role | None = None
    query: type[Request] = Request
    body: tuple[type, ...] = ()
    status: int = 200
    problems: tuple[type[HalftruthError], ...] = ()

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


def _estimate(
    id: str, path: str, query: type[Request], answer: type, summary: str, description: str
) -> Operation:
    return Operation(
        id=id,
        method="GET",
        path=f"/v1/surveys/{{survey_id}}/{path}",
        audience="analysts",
        role="analyst",
        query=query,
        answer=answer,
        summary=summary,
        description=description,
        problems=(NoReports, EstimateError, SchemaError, DomainTooLarge),
    )


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listSurveys",
        method="GET",
        path="/v1/surveys",
        audience="respondents",
        answer=SurveyList,
        summary="List the surveys",
    ),
    Operation(
        id="getSurvey",
        method="GET",
        path="/v1/surveys/{survey_id}",
        audience="respondents",
        answer=PublishedSurvey,
        summary="Fetch a survey",
        description=(
            "A client computes the digest from the survey itself, and refuses one that protects"
            " less than its caller asked for."
        ),
    ),
    Operation(
        id="addReports",
        method="POST",
        path="/v1/surveys/{survey_id}/reports",
        audience="respondents",
        body=(ReportBatch, SealedBatch),
        answer=Receipt,
        status=202,
        summary="Send reports",
        description=(
            "Counts all reports of the batch or none, each exactly once, and answers once the"
            " counts are durable. Sending the same report again is safe. A survey with a sealing"
            " key takes sealed reports only, and any other takes plain ones only. Where no"
            " invitation is asked for, the reports from one address are limited."
        ),
        problems=(
            SurveyClosed,
            StaleDigest,
            ReportIdReused,
            ReportError,
            InvitationRefused,
            TooManyReports,
        ),
    ),
    Operation(
        id="getCounts",
        method="GET",
        path="/v1/surveys/{survey_id}/counts",
        audience="analysts",
        role="analyst",
        answer=CountsResult,
        summary="Counts of perturbed reports",
        description="Every estimate is computed from these.",
    ),
    _estimate(
        "getItemsets",
        "itemsets",
        ItemsetsQuery,
        ItemsetsResult,
        "Frequent itemsets",
        "Itemsets whose support reaches a threshold, each with its bounds and a decision.",
    ),
    _estimate(
        "getRules",
        "rules",
        RulesQuery,
        RulesResult,
        "Association rules",
        "Rules between the itemsets that the same parameters select.",
    ),
    _estimate(
        "getRule",
        "rule",
        RuleQuery,
        RuleResult,
        "One association rule",
        "One rule, whatever its support.",
    ),
    _estimate(
        "getTable",
        "table",
        TableQuery,
        TableResult,
        "A reconstructed table",
        "The estimated share of every combination of categories of some attributes.",
    ),
    _estimate(
        "getMeasures",
        "measures",
        MeasuresQuery,
        MeasuresResult,
        "Association measures",
        "How some attributes go together; where a measure is undefined, why.",
    ),
    _estimate(
        "getAssociations",
        "associations",
        AssociationsQuery,
        AssociationsResult,
        "Association of every pair of attributes",
        "Concentration τ of every ordered pair.",
    ),
    _estimate(
        "getPartialCorrelation",
        "partial-correlation",
        PartialQuery,
        PartialResult,
        "Partial correlation",
        "Correlation of two attributes given others, of the answers and of the reports.",
    ),
    _estimate(
        "getRandomized",
        "randomized",
        RandomizedQuery,
        RandomizedResult,
        "Measures of the reports themselves",
        "Nothing is reconstructed; each measure says what follows for the answers.",
    ),
    _estimate(
        "getLoglinear",
        "loglinear",
        LoglinearQuery,
        LoglinearResult,
        "A loglinear model of the reports",
        "A hierarchical model fitted to the reports, and tested.",
    ),
    _estimate(
        "getClassifier",
        "classifier",
        ClassifierQuery,
        ClassifierResult,
        "A classifier",
        "Naive Bayes or a decision tree, learned from reconstructed tables.",
    ),
    Operation(
        id="planSurvey",
        method="POST",
        path="/v1/plan",
        audience="planning",
        role="analyst",
        body=(PlanRequest,),
        answer=PlanResult,
        summary="Foretell the precision of a survey",
        description="Reads nothing of the store: the survey need not have been published.",
        problems=(SurveyError, SchemaError, DomainTooLarge),
    ),
    Operation(
        id="publishSurvey",
        method="POST",
        path="/v1/surveys",
        audience="operators",
        role="operator",
        body=(SurveyDocument,),
        answer=PublishedSurvey,
        status=201,
        summary="Publish a survey",
        description=(
            "Replaces a survey of the same id that has no report yet. Publishing the very same"
            " survey again changes nothing."
        ),
        problems=(SurveyExists, SurveyError, SchemaError, DomainTooLarge),
    ),
    Operation(
        id="closeSurvey",
        method="POST",
        path="/v1/surveys/{survey_id}/close",
        audience="operators",
        role="operator",
        answer=PublishedSurvey,
        summary="Close a survey",
        description="It takes no more reports. Closing it again changes nothing.",
    ),
    Operation(
        id="setTerms",
        method="PUT",
        path="/v1/surveys/{survey_id}/terms",
        audience="operators",
        role="operator",
        body=(SignedTerms,),
        answer=PublishedSurvey,
        summary="Say how reports are taken",
        description=(
            "From now on, each report needs an invitation or not, and is sealed to a key of this"
            " collector or not. The signature is the operator's, of the survey's digest with these"
            " terms."
        ),
        problems=(SignatureRefused,),
    ),
    Operation(
        id="getHealth",
        method="GET",
        path="/healthz",
        audience="operations",
        answer=Health,
        summary="Whether the process lives",
        description="It does not look at the database.",
    ),
    Operation(
        id="getReadiness",
        method="GET",
        path="/readyz",
        audience="operations",
        answer=Health,
        summary="Whether requests may be sent here",
        description="The database answers, its tables are current, and the process goes on.",
        problems=(StoreUnavailable, SchemaOutdated),
    ),
    Operation(
        id="getMetrics",
        method="GET",
        path="/metrics",
        audience="operations",
        role="monitor",
        answer="text/plain",
        summary="Numbers for Prometheus",
    ),
    Operation(
        id="getDescription",
        method="GET",
        path="/openapi.json",
        audience="operations",
        answer="application/json",
        summary="This description",
    ),
)

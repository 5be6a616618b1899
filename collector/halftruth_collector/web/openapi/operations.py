"""Every call of the HTTP interface: who may make it, what it takes, and what may come of it.

Those of analyses follow from their registry; the few others are declared here.
"""

from typing import Any

from halftruth_shared import DomainTooLarge, ReportError, SchemaError, SurveyError
from halftruth_shared.analyses.plan import PlanRequest, PlanResult
from halftruth_shared.protocol.invitations import InvitationCheck, InvitationState
from halftruth_shared.protocol.reports import Receipt, ReportBatch, SealedBatch
from halftruth_shared.protocol.surveys import PublishedSurvey, SurveyList
from halftruth_shared.survey import document_type

from ...analyses import ANALYSES, Analysis
from ...dry_run import SurveyCheck
from ...errors import (
    DeadlinePassed,
    InvitationRefused,
    QuotaReached,
    SchemaOutdated,
    StaleDigest,
    StoreUnavailable,
    SurveyClosed,
    TooManyReports,
)
from ..messages import Health
from .operation import Operation
from .operators import OPERATORS


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
            DeadlinePassed,
            QuotaReached,
            StaleDigest,
            ReportError,
            InvitationRefused,
            TooManyReports,
        ),
    ),
    Operation(
        "checkInvitation",
        "POST",
        "/v1/surveys/{survey_id}/invitations/check",
        "respondents",
        "Ask whether an invitation is good",
        InvitationState,
        "So that nobody answers a survey in vain. The invitation is not spent, and nothing of the"
        " question is kept; it is asked by the SHA-256 of the invitation, with which nobody could"
        " send a report. Those from one address that are not known are limited.",
        body=(InvitationCheck,),
        problems=(TooManyReports,),
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
        "checkSurvey",
        "POST",
        "/v1/check",
        "planning",
        "Check a survey",
        SurveyCheck,
        "A dry run of publishing it: what it promises, and whether the form that this collector"
        " hosts would ask it.",
        role="analyst",
        body=(document_type(),),
        problems=(SurveyError, SchemaError, DomainTooLarge),
    ),
    *OPERATORS,
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

"""A valid request for each operation of the HTTP interface, and the OpenAPI document with them."""

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from uuid import UUID

import msgspec
import numpy as np
from halftruth_collector.confirmation import EVERY
from halftruth_collector.estimation import Counts
from halftruth_collector.operations import ACTIONS
from halftruth_collector.operations.invitations import InvitationRequest
from halftruth_collector.operations.surveys import Listing, PublishQuery
from halftruth_collector.operations.tokens import TokenRequest
from halftruth_collector.web.calls import OPERATORS, declared
from halftruth_collector.web.messages import Confirmation
from halftruth_collector.web.openapi import document
from halftruth_shared import Attribute, GammaDiagonal, Schema, SplitQuestionnaire, Survey
from halftruth_shared.analyses.plan import PlanQuery, PlanRequest
from halftruth_shared.analyses.reading import fields
from halftruth_shared.mechanisms import ViewClass
from halftruth_shared.protocol.base import Request
from halftruth_shared.protocol.reports import (
    InvitationCheck,
    RelayedBatch,
    Report,
    ReportBatch,
    SealedBatch,
    SealedReport,
    TicketRequest,
)
from halftruth_shared.protocol.terms import Terms, TermsChange, TermsPatch
from halftruth_shared.survey import Reporting

#: Number of reports in each cell of the survey.
_REPORTS = [[[330, 240], [410, 350], [120, 150]], [[60, 40], [190, 160], [280, 170]]]

#: Overhead of a sealed report in bytes: the encapsulated key and the authentication tag.
_ENCAPSULATED, _TAG = 32, 16

_REPORT_ID = UUID("6f0d3c9e-0d3c-4b8e-9d55-1f5a3c0e7a11")

SURVEY = Survey(
    "health",
    "Health at work",
    Schema(
        (
            Attribute("smoker", ("no", "yes"), label="Do you smoke?"),
            Attribute("drinks", ("never", "weekly", "daily")),
            Attribute("shift", ("day", "night")),
        )
    ),
    GammaDiagonal("19"),
)

#: A survey with tickets.
TICKETED = Survey(
    "views",
    "Health at work, by ticket",
    SURVEY.schema,
    SplitQuestionnaire(
        "19", [ViewClass(attributes=[[name]], weight=1) for name in SURVEY.schema.names]
    ),
    reporting=Reporting(tickets="required"),
)

#: Path parameters.
PLACES = {"survey_id": SURVEY.id, "token_id": "6f0d3c9e", "key": "5a" * 32}


@dataclass(frozen=True)
class Call:
    """Query and bodies of one request; bodies by their message types.

    `places` are path parameters that only this request has.
    """

    query: Request = field(default_factory=Request)
    bodies: dict = field(default_factory=dict)
    places: dict = field(default_factory=dict)


def counts():
    """Return counts of reports to the survey."""
    reports = np.array(_REPORTS)
    return Counts.from_cells(SURVEY, np.argwhere(reports >= 0), reports.ravel())


def reports():
    """Return the same reports, one by one."""
    found = counts()
    values = np.repeat(found.cells, found.counts, axis=0).tolist()
    return [Report(id=UUID(int=i), values=row) for i, row in enumerate(values)]


@cache
def calls():
    """Return a request for each operation, by operation id."""
    terms = Terms(
        invitations=True, closes_at=datetime(2027, 3, 31, 22, tzinfo=UTC), max_reports=5000
    )
    planned = PlanQuery(respondents=5000, half_width=0.02)
    plan = PlanRequest(survey=msgspec.Raw(SURVEY.canonical_json), **msgspec.structs.asdict(planned))
    batch = ReportBatch(digest=SURVEY.digest, reports=[Report(id=_REPORT_ID, values=[0, 2, 1])])
    sealed = bytes(range(_ENCAPSULATED + SURVEY.report_space.packed_size + _TAG))
    sealed_batch = SealedBatch(
        digest=SURVEY.digest, reports=[SealedReport(id=_REPORT_ID, sealed=sealed)]
    )
    check = InvitationCheck(hash=hashlib.sha256(bytes(16)).hexdigest())
    tickets = TicketRequest(digest=TICKETED.digest, commitments=["5e" * 32])
    # Arguments of actions that have no default.
    given = {
        TermsChange: TermsChange(terms=TermsPatch(**msgspec.structs.asdict(terms))),
        Listing: Listing(listed=False),
        InvitationRequest: InvitationRequest(count=1),
        TokenRequest: TokenRequest(role="analyst", survey=SURVEY.id, name="Anna, paper"),
    }
    special = {
        "addReports": Call(
            bodies={
                "ReportBatch": batch,
                "SealedBatch": sealed_batch,
                "RelayedBatch": RelayedBatch(digest=SURVEY.digest, relayed=[bytes(90)]),
            }
        ),
        "checkInvitation": Call(bodies={"InvitationCheck": check}),
        "issueTickets": Call(bodies={"TicketRequest": tickets}, places={"survey_id": TICKETED.id}),
        "planSurvey": Call(bodies={"PlanRequest": plan}),
        "publishSurvey": Call(PublishQuery(), {"SurveyDocument": SURVEY.document()}),
        "checkSurvey": Call(bodies={"SurveyDocument": SURVEY.document()}),
    }
    of_actions = {
        operation.id: _of_action(action, given)
        for operation in declared((OPERATORS,))
        for action in ACTIONS
        if action.call
        and (operation.method, operation.rule) == (action.call.method, action.call.rule)
    }
    questions = {o.id: Call(o.analysis.start(SURVEY)) for o in declared() if o.analysis}
    return {o.id: Call() for o in declared()} | of_actions | special | questions


def _of_action(action, given):
    """Return a request that performs an action."""
    arguments = given.get(action.arguments) or action.arguments()
    if action.call.method == "GET":
        return Call(arguments)
    confirm = EVERY if action.about is None else PLACES[action.about.place]
    query = Confirmation(confirm=confirm) if action.is_final else Request()
    has_body = action.arguments is not Request
    return Call(query, {action.arguments.__name__: arguments} if has_body else {})


@cache
def document_with_examples():
    """Return the OpenAPI document with these requests as examples of its parameters and bodies."""
    found = json.loads(json.dumps(document()))
    for operation in declared():
        call, item = calls()[operation.id], found["paths"][operation.path]
        described = item[operation.method.lower()]
        for parameter in item.get("parameters", []):
            parameter["example"] = PLACES[parameter["name"]]
        written = dict(_written(call.query))
        for parameter in described.get("parameters", []):
            if parameter["name"] in written:
                parameter["example"] = written[parameter["name"]]
        if operation.bodies:
            described["requestBody"]["content"]["application/json"]["examples"] = {
                name: {"value": _plain(body)} for name, body in call.bodies.items()
            }
    return found


def _written(query):
    """Return the parameters of a query as written in a URL, before escaping."""
    for parameter in fields(type(query)).values():
        value = getattr(query, parameter.name)
        if value in (None, [], {}):
            continue
        if parameter.kind in ("items", "margins"):
            value = parameter.texts(value)
        elif parameter.kind == "terms":
            value = [",".join(term) for term in value]
        yield parameter.name, _plain(value)


def _plain(value):
    """Convert a message to JSON types."""
    return msgspec.json.decode(msgspec.json.encode(value))

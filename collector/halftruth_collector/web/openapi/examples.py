"""Examples of every call: what is sent, and what the program itself computes from it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cache
from typing import Any
from uuid import UUID

import msgspec
import numpy as np
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from halftruth_shared.analyses.plan import PlanQuery, PlanRequest
from halftruth_shared.protocol.base import Request
from halftruth_shared.protocol.invitations import InvitationCheck, InvitationState
from halftruth_shared.protocol.reports import (
    Receipt,
    Report,
    ReportBatch,
    SealedBatch,
    SealedReport,
)
from halftruth_shared.protocol.surveys import PublishedSurvey, SurveyList, SurveySummary
from halftruth_shared.protocol.terms import SignedTerms, Terms

from ...access.audit import AuditEntry
from ...access.keys import KnownKey
from ...access.tokens import StoredToken
from ...analyses import Counted
from ...dry_run import check_survey
from ...estimation import Counts
from ...estimation.planner import plan
from ...store.invitations import InvitationCount
from ...store.retention import KEEP_DAYS, Deleted
from ...store.states import SurveyState
from ..messages import (
    AuditLogPage,
    AuditQuery,
    InvitationRequest,
    IssuedInvitations,
    KeyList,
    Listing,
    NewToken,
    PublishQuery,
    Purged,
    PurgeRequest,
    SealingKeyList,
    SurveyStates,
    TokenList,
    TokenRequest,
    Unsigned,
    Withdrawn,
)
from ..routes.operations import Health
from .operations import OPERATIONS

#: Of every cell of the survey, how many reports there are.
_REPORTS = [[[330, 240], [410, 350], [120, 150]], [[60, 40], [190, 160], [280, 170]]]
_AS_OF = datetime(2026, 1, 31, 12, tzinfo=UTC)
_DAYS = {date(2026, 1, 29): 1400, date(2026, 1, 31): 1100}

#: Bytes of a sealed report besides the report: the encapsulated key and the authentication tag.
_ENCAPSULATED, _TAG = 32, 16

#: Of the invitation of 32 zeros.
_INVITATION_HASH = hashlib.sha256(bytes(16)).hexdigest()

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


@dataclass(frozen=True)
class Example:
    """One call with its answer, None where that is no message; bodies by their message types."""

    answer: msgspec.Struct | None
    query: Request = field(default_factory=Request)
    bodies: Mapping[str, Any] = field(default_factory=dict)


def counts() -> Counts:
    """The reports of the example."""
    reports = np.array(_REPORTS)
    return Counts.from_cells(SURVEY, np.argwhere(reports >= 0), reports.ravel())


@cache
def examples() -> dict[str, Example]:
    """An example of every call, by its id."""
    published = PublishedSurvey(survey=msgspec.Raw(SURVEY.canonical_json), digest=SURVEY.digest)
    summary = SurveySummary(
        id=SURVEY.id, title=SURVEY.title_in(), digest=SURVEY.digest, status=published.status
    )
    invited = Terms(
        invitations=True, closes_at=datetime(2027, 3, 31, 22, tzinfo=UTC), max_reports=5000
    )
    planned = PlanQuery(respondents=5000, lengths=[1, 2], half_width=0.02)
    request = PlanRequest(
        survey=msgspec.Raw(SURVEY.canonical_json), **msgspec.structs.asdict(planned)
    )
    report = Report(id=_REPORT_ID, values=[0, 2, 1])
    batch = ReportBatch(digest=SURVEY.digest, reports=[report])
    return {
        **_analyses(),
        "listSurveys": Example(SurveyList(surveys=[summary])),
        "getSurvey": Example(published),
        "addReports": Example(
            Receipt(accepted=1, duplicates=0),
            bodies={"ReportBatch": batch, "SealedBatch": _sealed()},
        ),
        "checkInvitation": Example(
            InvitationState(unspent=False),
            bodies={"InvitationCheck": InvitationCheck(hash=_INVITATION_HASH)},
        ),
        "planSurvey": Example(plan(SURVEY, planned), bodies={"PlanRequest": request}),
        "publishSurvey": Example(
            published, PublishQuery(), bodies={"SurveyDocument": SURVEY.document()}
        ),
        "closeSurvey": Example(
            msgspec.structs.replace(published, status="closed", closed_because="operator")
        ),
        "setTerms": Example(
            msgspec.structs.replace(published, terms=invited),
            bodies={"SignedTerms": SignedTerms(terms=invited)},
        ),
        **_of_operators(published),
        "getHealth": Example(Health(status="ok")),
        "getReadiness": Example(Health(status="ready")),
        "getMetrics": Example(None),
        "getDescription": Example(None),
    }


def _of_operators(published: PublishedSurvey) -> dict[str, Example]:
    state = SurveyState(
        id=SURVEY.id,
        title=SURVEY.title_in(),
        digest=SURVEY.digest,
        status="open",
        listed=True,
        mechanism=SURVEY.mechanism.kind,
        terms=Terms(),
        signed_by=None,
        reports=counts().reports,
        invited=0,
        withdrawn=0,
        unused=0,
        published_at=_AS_OF,
        closed_at=None,
        purged_at=None,
    )
    known = StoredToken(
        id="6f0d3c9e",
        role="analyst",
        survey=SURVEY.id,
        created_at=_AS_OF,
        revoked_at=None,
        name="Anna, paper",
        expires_at=None,
    )
    asked = TokenRequest(role=known.role, survey=known.survey, name=known.name)
    key = "5a" * 32
    sealing = Example(SealingKeyList(keys=[key]))
    entry = AuditEntry(
        number=1,
        at=_AS_OF,
        actor="token 0d3c6f9e",
        action="survey close",
        subject="health",
        detail="",
    )
    return {
        "checkSurvey": Example(
            check_survey(SURVEY, "19"), bodies={"SurveyDocument": SURVEY.document()}
        ),
        "getStates": Example(SurveyStates(surveys=[state])),
        "getState": Example(state),
        "reopenSurvey": Example(published),
        "deleteSurvey": Example(
            Deleted(id=SURVEY.id, reports=state.reports, ids=state.reports, invitations=0)
        ),
        "setListing": Example(
            msgspec.structs.replace(state, listed=False), bodies={"Listing": Listing(listed=False)}
        ),
        "countInvitations": Example(InvitationCount(issued=0, used=0, withdrawn=0, unused=0)),
        "createInvitations": Example(
            IssuedInvitations(invitations=["0123456789abcdef" * 2]),
            bodies={"InvitationRequest": InvitationRequest(count=1)},
        ),
        "revokeInvitations": Example(Withdrawn(withdrawn=0)),
        "purge": Example(
            Purged(surveys=[]), bodies={"PurgeRequest": PurgeRequest(closed_for=KEEP_DAYS)}
        ),
        "listTokens": Example(TokenList(tokens=[known])),
        "createToken": Example(
            NewToken(token=f"ht_{'A' * 43}", known=known), bodies={"TokenRequest": asked}
        ),
        "revokeToken": Example(
            TokenList(tokens=[msgspec.structs.replace(known, revoked_at=_AS_OF)])
        ),
        "listKeys": Example(
            KeyList(keys=[KnownKey(key=key, surveys=[SURVEY.id], revoked_at=None)])
        ),
        "revokeKey": Example(Unsigned(surveys=[SURVEY.id])),
        "listSealingKeys": sealing,
        "createSealingKey": sealing,
        "retireSealingKey": sealing,
        "getAuditLog": Example(AuditLogPage(entries=[entry]), AuditQuery()),
    }


def _analyses() -> dict[str, Example]:
    """Of each analysis, the question that its page begins with."""
    counted = Counted(SURVEY, counts(), _AS_OF, min_reports=1, days=_DAYS)
    found = {}
    for operation in OPERATIONS:
        if operation.analysis is not None:
            query = operation.analysis.start(SURVEY)
            found[operation.id] = Example(operation.analysis.compute(counted, query), query)
    return found


def _sealed() -> SealedBatch:
    """A batch of the right shape; what it seals, only a collector could read."""
    length = _ENCAPSULATED + SURVEY.report_space.packed_size + _TAG
    report = SealedReport(id=_REPORT_ID, sealed=bytes(range(length)))
    return SealedBatch(digest=SURVEY.digest, reports=[report])

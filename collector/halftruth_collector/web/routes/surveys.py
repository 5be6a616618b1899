"""Calls for anyone: surveys, and sending reports."""

from flask import g
from halftruth_shared import HalftruthError, ReportError
from halftruth_shared.protocol.base import check_hexadecimal
from halftruth_shared.protocol.reports import (
    InvitationCheck,
    InvitationState,
    IssuedTickets,
    Receipt,
    RelayedBatch,
    ReportBatch,
    SealedBatch,
    TicketRequest,
)
from halftruth_shared.protocol.surveys import PublishedSurvey, SurveyList, SurveySummary

from ... import operations
from ...errors import (
    DeadlinePassed,
    Forbidden,
    InvitationRefused,
    MalformedRequest,
    QuotaReached,
    StaleDigest,
    StoreUnavailable,
    SurveyClosed,
    SurveyPlanned,
    TicketRefused,
    TooLarge,
    TooManyReports,
    Unauthorized,
)
from ...intake.checking import Batch, check
from ...intake.opening import open_relayed_batch, open_reports
from ...intake.reading import read
from ...store.surveys import StoredSurvey
from ...store.tokens import StoredToken
from .. import parameters
from ..calls import RESPONDENTS
from ..context import collector, current_request, remember_bearer, require
from ..limits import Visit


@RESPONDENTS.call("GET", "/v1/surveys", answer=SurveyList)
def list_surveys() -> SurveyList:
    """List the surveys.

    Unlisted surveys are omitted, though anyone who knows their id can fetch and answer them.
    """
    surveys = collector().store.surveys
    return SurveyList(
        surveys=[
            SurveySummary(
                id=stored.id,
                title=stored.survey().title_in(),
                digest=stored.digest,
                status=surveys.status(stored),
            )
            for stored in surveys.listed()
        ]
    )


@RESPONDENTS.call(
    "GET", "/v1/surveys/<survey_id>", answer=PublishedSurvey, shared=True, revalidated=True
)
def get_survey(survey_id: str) -> PublishedSurvey:
    """Fetch a survey.

    A client computes the digest from the survey itself, and refuses a survey whose amplification
    exceeds its caller's limit.
    """
    return collector().store.surveys.published(survey_id)


@RESPONDENTS.call(
    "POST",
    "/v1/surveys/<survey_id>/reports",
    body=(ReportBatch, SealedBatch, RelayedBatch),
    answer=Receipt,
    status=202,
    shared=True,
    errors=(
        SurveyPlanned,
        SurveyClosed,
        DeadlinePassed,
        QuotaReached,
        StaleDigest,
        ReportError,
        InvitationRefused,
        TicketRefused,
        TooManyReports,
        Unauthorized,
        Forbidden,
    ),
)
def add_reports(survey_id: str) -> Receipt:
    """Send reports.

    Counts all reports of the batch or none, each exactly once, and answers once the counts are
    durable. The call is idempotent: sending the same report again is safe. A survey with a sealing
    key accepts sealed reports only, and any other survey plain reports only. Without invitations
    there is a rate limit by address, except with an operator's token. If the survey requires
    tickets, each new report needs one, except with an operator's token.

    A survey with a relay accepts reports only from the relay, by its token, until it is purged.
    Reports that cannot be opened, do not fit the survey or lack a ticket are counted as refused,
    and the others are accepted.
    """
    this = collector()
    reports, bearer = this.store.reports, None
    g.may_be_counted = False
    if current_request().headers.get("Authorization", "").lower().startswith("bearer "):
        bearer = require("operator", "relay")
    with (
        reports.recording_refusals(survey_id),
        this.limit.visit(exempt=bearer is not None) as visit,
    ):
        batch = _receive(survey_id, visit, bearer)
        g.may_be_counted = True
        receipt = reports.count(batch)
        visit.accepted = receipt.accepted
    if batch.finished and bearer is not None:
        remember_bearer(bearer)
        try:
            operations.finish_relayed(this.store, survey_id)
        except StoreUnavailable as error:
            # The reports were counted before.
            error.is_undone = False
            raise
    return receipt


@RESPONDENTS.call(
    "POST",
    "/v1/surveys/<survey_id>/invitations/check",
    body=InvitationCheck,
    answer=InvitationState,
    shared=True,
    errors=(TooManyReports,),
)
def check_invitation(asked: InvitationCheck, survey_id: str) -> InvitationState:
    """Check whether an invitation is unused.

    A form checks the invitation before the first question. The check neither spends the invitation
    nor is recorded. It takes the SHA-256 of the invitation, which cannot be used to send a report.
    There is a rate limit by address for unknown invitations.
    """
    check_hexadecimal("hash", asked.hash)
    this = collector()
    with this.limit.visit() as visit:
        visit.uncharged = 1
        unused = this.store.invitations.is_unused(survey_id, bytes.fromhex(asked.hash))
        visit.accepted = int(unused)
    return InvitationState(unspent=unused)


@RESPONDENTS.call(
    "POST",
    "/v1/surveys/<survey_id>/tickets",
    body=TicketRequest,
    answer=IssuedTickets,
    status=201,
    shared=True,
    errors=(
        SurveyClosed,
        DeadlinePassed,
        QuotaReached,
        SurveyPlanned,
        StaleDigest,
        ReportError,
        InvitationRefused,
        TooLarge,
        TooManyReports,
    ),
)
def issue_tickets(asked: TicketRequest, survey_id: str) -> IssuedTickets:
    """Issue tickets.

    The client draws a secret of 32 random bytes for each ticket and sends the commitment to it;
    the ticket has an id, and a code by which the collector recognizes it. The view of a report
    follows from id and secret, so that neither side can choose it. An unused invitation admits
    three tickets. Without invitations there is a rate limit by address. The tickets of a survey
    with a relay are issued by the relay alone.
    """
    this = collector()
    surveys = this.store.surveys
    with this.ticket_limit.visit() as visit:
        stored = surveys.get(survey_id)
        visit.uncharged = len(asked.commitments)
        if not stored.terms.invitations:
            visit.charge(len(asked.commitments))
        issued = this.store.tickets.issue(stored, asked)
        visit.accepted = len(issued)
    return IssuedTickets(tickets=issued)


def _receive(survey_id: str, visit: Visit, bearer: StoredToken | None) -> Batch:
    """Run the steps of the intake before the commit: read, charge the rate limit, open, check.

    The survey is taken from a cache; before a request is refused, it is read again.
    """
    surveys = collector().store.surveys
    known = surveys.last_read(survey_id) or surveys.get(survey_id)
    data = parameters.read_body()
    try:
        return _prepare(known, data, visit, bearer)
    except MalformedRequest:
        raise
    except HalftruthError:
        # The cached survey may be out of date: read it again before refusing the request.
        current = surveys.get(survey_id)
        if current == known:
            raise
        return _prepare(current, data, visit, bearer)


def _prepare(stored: StoredSurvey, data: bytes, visit: Visit, bearer: StoredToken | None) -> Batch:
    this = collector()
    _check_sender(stored, bearer)
    batch = read(data, stored, this.config.max_batch)
    tickets = this.store.tickets.check_of(stored)
    if isinstance(batch, RelayedBatch):
        return open_relayed_batch(stored, batch, this.sealing_keys, tickets)
    if _are_limited_by_invitations(stored, batch):
        visit.uncharged = len(batch.reports)
    else:
        visit.charge(len(batch.reports))
    reports = open_reports(stored, batch, this.sealing_keys)
    return check(
        *(stored.id, batch.digest, stored.survey().report_space, reports),
        sealed=isinstance(batch, SealedBatch),
        tickets=tickets,
        # Programs that send the reports of many people are trusted with what they draw.
        needs_tickets=tickets is not None and bearer is None,
    )


def _check_sender(stored: StoredSurvey, bearer: StoredToken | None) -> None:
    """Check that reports to a survey with a relay come from the relay, and no others do."""
    relay, role = stored.survey().relay, None if bearer is None else bearer.role
    if relay is not None and role != "relay":
        raise Forbidden(
            f"reports: this survey takes them from its relay alone; expected them at {relay.url}",
            field="reports",
        )
    if relay is None and role == "relay":
        raise Forbidden("token: expected the token of an operator", field="token")


def _are_limited_by_invitations(stored: StoredSurvey, batch: ReportBatch | SealedBatch) -> bool:
    """Return whether invitations limit the reports of a batch."""
    if not stored.terms.invitations:
        return False
    # Without an invitation inside, a sealed report cannot be opened on these terms.
    if isinstance(batch, SealedBatch) or all(report.invitation for report in batch.reports):
        return True
    # The cached terms may be out of date. If invitations are no longer required, these reports
    # would be counted without any limit.
    return collector().store.surveys.get(stored.id).terms.invitations

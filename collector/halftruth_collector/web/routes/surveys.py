"""Calls for anyone: surveys, and sending reports."""

from flask import g
from halftruth_shared import HalftruthError, ReportError
from halftruth_shared.protocol.base import check_hexadecimal
from halftruth_shared.protocol.invitations import InvitationCheck, InvitationState
from halftruth_shared.protocol.reports import Receipt, RelayedBatch, ReportBatch, SealedBatch
from halftruth_shared.protocol.surveys import PublishedSurvey, SurveyList, SurveySummary

from ... import operations
from ...errors import (
    DeadlinePassed,
    Forbidden,
    InvitationRefused,
    MalformedRequest,
    QuotaReached,
    StaleDigest,
    SurveyClosed,
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
from ..context import collector, current_request, get_published, remember_bearer, require
from ..limits import Visit


@RESPONDENTS.call("GET", "/v1/surveys", answer=SurveyList)
def list_surveys() -> SurveyList:
    """List the surveys.

    Those that are unlisted are not among them, though anyone can fetch and answer them.
    """
    surveys = collector().store.surveys
    return SurveyList(
        surveys=[
            SurveySummary(
                id=stored.id,
                title=stored.survey().title_in(),
                digest=stored.digest,
                status="open" if surveys.closed_because(stored) is None else "closed",
            )
            for stored in surveys.listed()
        ]
    )


@RESPONDENTS.call("GET", "/v1/surveys/<survey_id>", answer=PublishedSurvey, shared=True)
def get_survey(survey_id: str) -> PublishedSurvey:
    """Fetch a survey.

    A client computes the digest from the survey itself, and refuses one that protects less than its
    caller asked for.
    """
    return get_published(survey_id)


@RESPONDENTS.call(
    "POST",
    "/v1/surveys/<survey_id>/reports",
    body=(ReportBatch, SealedBatch, RelayedBatch),
    answer=Receipt,
    status=202,
    shared=True,
    errors=(
        SurveyClosed,
        DeadlinePassed,
        QuotaReached,
        StaleDigest,
        ReportError,
        InvitationRefused,
        TooManyReports,
        Unauthorized,
        Forbidden,
    ),
)
def add_reports(survey_id: str) -> Receipt:
    """Send reports.

    Counts all reports of the batch or none, each exactly once, and answers once the counts are
    durable. Sending the same report again is safe. A survey with a sealing key takes sealed reports
    only, and any other takes plain ones only. Where no invitation is asked for, the reports from
    one address are limited, except with an operator's token.

    A survey with a relay takes reports from the relay alone, by its token, until they are purged.
    Those that cannot be opened or do not fit are counted as refused, and the others are taken.
    """
    this = collector()
    reports, bearer = this.store.reports, None
    g.may_be_counted = False
    if current_request().headers.get("Authorization", "").lower().startswith("bearer "):
        bearer = require("operator", "relay")
    with (
        reports.recording_refusals(survey_id),
        this.limit.visit_with_reports(exempt=bearer is not None) as visit,
    ):
        batch = _receive(survey_id, visit, bearer)
        g.may_be_counted = True
        receipt = reports.count(batch)
        visit.accepted = receipt.accepted
    if batch.finished and bearer is not None:
        remember_bearer(bearer)
        operations.finish_relayed(this.store, survey_id)
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
    """Ask whether an invitation is good.

    So that nobody answers a survey in vain. The invitation is not spent, and nothing of the
    question is kept; it is asked by the SHA-256 of the invitation, with which nobody could send a
    report. Those from one address that are not known are limited.
    """
    check_hexadecimal("hash", asked.hash)
    this = collector()
    with this.limit.visit(1) as visit:
        unused = this.store.invitations.is_unused(survey_id, bytes.fromhex(asked.hash))
        visit.accepted = int(unused)
    return InvitationState(unspent=unused)


def _receive(survey_id: str, visit: Visit, bearer: StoredToken | None) -> Batch:
    """Return the reports of this request, read, charged to their address, opened and checked."""
    surveys = collector().store.surveys
    known = surveys.last_read(survey_id) or surveys.get(survey_id)
    data = parameters.read_body()
    try:
        return _prepare(known, data, visit, bearer)
    except MalformedRequest:
        raise
    except HalftruthError:
        # Before a refusal is believed, the survey is read again: it may have changed.
        current = surveys.get(survey_id)
        if current == known:
            raise
        return _prepare(current, data, visit, bearer)


def _prepare(stored: StoredSurvey, data: bytes, visit: Visit, bearer: StoredToken | None) -> Batch:
    this = collector()
    _check_sender(stored, bearer)
    batch = read(data, stored, this.config.max_batch)
    if isinstance(batch, RelayedBatch):
        return open_relayed_batch(stored, batch, this.sealing_keys)
    if _are_limited_by_invitations(stored, batch):
        visit.uncharged = len(batch.reports)
    else:
        visit.charge(len(batch.reports))
    reports = open_reports(stored, batch, this.sealing_keys)
    sealed = isinstance(batch, SealedBatch)
    return check(stored.id, batch.digest, stored.survey().report_space, reports, sealed=sealed)


def _check_sender(stored: StoredSurvey, bearer: StoredToken | None) -> None:
    """Let a relay send reports of its own survey alone, and nobody else those."""
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
    # The survey may ask for none any more: then these reports would be counted, without any limit.
    return collector().store.surveys.get(stored.id).terms.invitations

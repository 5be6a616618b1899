"""Calls for anyone: surveys, and sending reports."""

from flask import Response, g
from halftruth_shared import HalftruthError, ReportError
from halftruth_shared.protocol.base import check_hexadecimal
from halftruth_shared.protocol.invitations import InvitationCheck, InvitationState
from halftruth_shared.protocol.reports import Receipt, ReportBatch, SealedBatch
from halftruth_shared.protocol.surveys import PublishedSurvey, SurveyList, SurveySummary

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
from ...intake.opening import open_reports
from ...intake.reading import read
from ...store.surveys import StoredSurvey
from .. import parameters
from ..calls import RESPONDENTS
from ..context import collector, current_request, published, require
from ..limits import Visit

#: Bytes for which a body that cannot be read counts as one report.
_BYTES_OF_REPORT = 500

#: What lets a page of another origin read an answer, and send the request at all.
_SHARED = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "86400",
}


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
    return published(survey_id)


@RESPONDENTS.blueprint.after_request
def from_other_pages(response: Response) -> Response:
    """Let forms on pages of other origins do what answering a survey takes, and nothing else."""
    request = current_request()
    if RESPONDENTS.calls[request.endpoint or ""].shared:
        response.headers.update(_SHARED)
        if request.method == "OPTIONS":
            response.headers.update(_PREFLIGHT)
    return response


@RESPONDENTS.call(
    "POST",
    "/v1/surveys/<survey_id>/reports",
    body=(ReportBatch, SealedBatch),
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
    """
    this = collector()
    reports, limit = this.store.reports, this.limit
    # Until the request is read, a refusal counts by its size.
    unread = 1 + (current_request().content_length or 0) // _BYTES_OF_REPORT
    g.may_be_counted = False
    operated = current_request().headers.get("Authorization", "").lower().startswith("bearer ")
    if operated:
        require("operator")
    with reports.recording_refusals(survey_id), limit.visit(unread, exempt=operated) as visit:
        batch = _receive(survey_id, visit)
        g.may_be_counted = True
        receipt = reports.count(batch)
        visit.accepted = receipt.accepted
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


def _receive(survey_id: str, visit: Visit) -> Batch:
    """Return the reports of this request, read, charged to their address, opened and checked."""
    surveys = collector().store.surveys
    known = surveys.last_read(survey_id) or surveys.get(survey_id)
    data = parameters.data()
    try:
        return _prepare(known, data, visit)
    except MalformedRequest:
        raise
    except HalftruthError:
        # Before a refusal is believed, the survey is read again: it may have changed.
        current = surveys.get(survey_id)
        if current == known:
            raise
        return _prepare(current, data, visit)


def _prepare(stored: StoredSurvey, data: bytes, visit: Visit) -> Batch:
    this = collector()
    batch = read(data, stored, this.config.max_batch)
    if _are_limited_by_invitations(stored, batch):
        visit.uncharged = len(batch.reports)
    else:
        visit.charge(len(batch.reports))
    reports = open_reports(stored, batch, this.sealing_keys)
    sealed = isinstance(batch, SealedBatch)
    return check(stored.id, batch.digest, stored.survey().report_space, reports, sealed=sealed)


def _are_limited_by_invitations(stored: StoredSurvey, batch: ReportBatch | SealedBatch) -> bool:
    """Return whether invitations limit the reports of a batch."""
    if not stored.terms.invitations:
        return False
    # Without an invitation inside, a sealed report cannot be opened on these terms.
    if isinstance(batch, SealedBatch) or all(report.invitation for report in batch.reports):
        return True
    # The survey may ask for none any more: then these reports would be counted, without any limit.
    return collector().store.surveys.get(stored.id).terms.invitations

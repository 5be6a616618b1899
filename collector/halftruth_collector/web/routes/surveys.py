"""Calls for anyone: surveys, and sending reports."""

from flask import Response, g
from halftruth_shared import HalftruthError, ReportError
from halftruth_shared.protocol.base import check_hexadecimal
from halftruth_shared.protocol.invitations import InvitationCheck, InvitationState
from halftruth_shared.protocol.reports import Receipt, ReportBatch, SealedBatch
from halftruth_shared.protocol.surveys import PublishedSurvey, SurveyList, SurveySummary

from ...errors import (
    DeadlinePassed,
    InvitationRefused,
    MalformedRequest,
    QuotaReached,
    StaleDigest,
    StoreUnavailable,
    SurveyClosed,
    TooLarge,
    TooManyReports,
    UnknownSurvey,
    slug,
)
from ...intake.checking import Batch, stale
from ...intake.opening import open_batch
from ...offloading import run_inline
from ...store.surveys import StoredSurvey
from .. import parameters
from ..calls import RESPONDENTS
from ..context import collector, current_request, published

#: Bytes of a body that are read and checked in no time.
_INLINE_BODY = 16_384

#: Bytes for which a body that cannot be read counts as one report.
_BYTES_OF_REPORT = 500

#: Most sealed reports in one request: opening one takes a fifth of a millisecond.
_MOST_SEALED = 1_000

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
    ),
)
def add_reports(survey_id: str) -> Receipt:
    """Send reports.

    Counts all reports of the batch or none, each exactly once, and answers once the counts are
    durable. Sending the same report again is safe. A survey with a sealing key takes sealed reports
    only, and any other takes plain ones only. Where no invitation is asked for, the reports from
    one address are limited.
    """
    # This runs in the event loop, so what takes long is done in threads, as transactions are.
    this = collector()
    # Reports of this request that were not counted against its address when they were sent; an
    # estimate until it has been read.
    g.unmetered = 1 + (current_request().content_length or 0) // _BYTES_OF_REPORT
    g.may_be_counted = False
    try:
        batch = _receive(survey_id)
        g.may_be_counted = True
        receipt = this.store.reports.count(batch)
    except (StoreUnavailable, TooManyReports):
        raise
    except HalftruthError:
        if this.limit is not None:
            this.limit.record_failures(g.unmetered)
        raise
    if this.limit is not None and receipt.accepted < max(1, g.unmetered):
        # What was counted before, or is nothing at all, can be sent again and again.
        this.limit.record_failures(g.unmetered - receipt.accepted)
    return receipt


@RESPONDENTS.call(
    "POST",
    "/v1/surveys/<survey_id>/invitations/check",
    body=InvitationCheck,
    answer=InvitationState,
    shared=True,
    errors=(TooManyReports,),
)
def check_invitation(check: InvitationCheck, survey_id: str) -> InvitationState:
    """Ask whether an invitation is good.

    So that nobody answers a survey in vain. The invitation is not spent, and nothing of the
    question is kept; it is asked by the SHA-256 of the invitation, with which nobody could send a
    report. Those from one address that are not known are limited.
    """
    check_hexadecimal("hash", check.hash)
    this = collector()
    if this.limit is not None:
        this.limit.check_failures()
    unused = False
    try:
        unused = this.store.invitations.is_unused(survey_id, bytes.fromhex(check.hash))
    except UnknownSurvey:
        if this.limit is not None:
            this.limit.record_failures(1)
        raise
    if not unused and this.limit is not None:
        this.limit.record_failures(1)
    return InvitationState(unspent=unused)


def _receive(survey_id: str) -> Batch:
    """Read the batch of this request; count a refusal among those of the survey."""
    this = collector()
    store = this.store
    known = store.surveys.last_read(survey_id)
    try:
        # Before the database is asked for a survey, whether or not there is one of this id.
        if this.limit is not None:
            this.limit.check_failures()
        if known is None:
            known = store.surveys.get(survey_id)
        data = parameters.data()
        try:
            return _parse_reports(known, data)
        except MalformedRequest:
            raise
        except HalftruthError:
            # Before a refusal is believed, the survey is read again: it may have changed.
            current = store.surveys.get(survey_id)
            if current == known:
                raise
            return _parse_reports(current, data)
    except StoreUnavailable:
        raise
    except HalftruthError as error:
        # Ids of surveys that there are not could be any number.
        if known is not None:
            store.reports.refuse(survey_id, slug(error))
        raise


def _parse_reports(stored: StoredSurvey, data: bytes) -> Batch:
    """Read a batch from the body of a request."""
    this = collector()
    sealed = stored.terms.sealing_key is not None
    most = min(this.config.max_batch, _MOST_SEALED) if sealed else this.config.max_batch
    columns = 1 if sealed else len(stored.survey().report_space.shape)
    # Before it is read, since that takes a hundred times the memory of an empty report.
    if data.count(b",") > (most + 1) * (columns + 3):
        raise TooLarge(f"reports: expected at most {most} in one request", field="reports")
    compute = run_inline if len(data) <= _INLINE_BODY else this.offloading.brief
    batch = compute(parameters.report_batch, data, stored)
    reports = len(batch.reports)
    if batch.digest != stored.digest:
        raise stale(stored.id)
    if reports > most:
        raise TooLarge(
            f"reports: expected at most {most} in one request, got {reports}", field="reports"
        )
    if this.limit is not None:
        if _are_limited_by_invitations(stored, batch):
            g.unmetered = reports
        else:
            this.limit.consume(reports)
            g.unmetered = 0
    return compute(open_batch, stored, batch, this.sealing_keys)


def _are_limited_by_invitations(stored: StoredSurvey, batch: ReportBatch | SealedBatch) -> bool:
    """Return whether invitations limit the reports of a batch."""
    if not stored.terms.invitations:
        return False
    # Without an invitation inside, a sealed report cannot be opened on these terms.
    if isinstance(batch, SealedBatch) or all(report.invitation for report in batch.reports):
        return True
    # The survey may ask for none any more: then these reports would be counted, without any limit.
    return collector().store.surveys.get(stored.id).terms.invitations

"""What anyone may ask: the surveys, and to count reports."""

from flask import Blueprint, Response, g
from halftruth_shared import HalftruthError
from halftruth_shared.protocol.base import check_hexadecimal
from halftruth_shared.protocol.invitations import InvitationCheck, InvitationState
from halftruth_shared.protocol.reports import ReportBatch, SealedBatch
from halftruth_shared.protocol.surveys import SurveyList, SurveySummary

from ...errors import MalformedRequest, StoreUnavailable, TooLarge, TooManyReports, slug
from ...intake.checking import Batch, stale
from ...intake.opening import open_batch
from ...store.database import here
from ...store.surveys import StoredSurvey
from .. import parameters
from ..context import answer, asked, collector, published

blueprint = Blueprint("respondents", __name__, url_prefix="/v1/surveys")


#: Bytes of a body that are read and checked in no time.
_FEW = 16_384

#: Bytes for which a body that cannot be read counts as one report.
_BYTES_OF_REPORT = 500

#: Most sealed reports in one request: opening one takes a fifth of a millisecond.
_MOST_SEALED = 1_000

#: What forms on pages of other origins need.
_FROM_OTHER_PAGES = (
    "respondents.get_survey",
    "respondents.check_invitation",
    "respondents.add_reports",
)

#: What lets a page of another origin read an answer, and send the request at all.
_SHARED = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "86400",
}


@blueprint.get("")
def list_surveys() -> Response:
    """The listed surveys with their digests."""
    parameters.none()
    surveys = collector().store.surveys
    return answer(
        SurveyList(
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
    )


@blueprint.get("/<survey_id>")
def get_survey(survey_id: str) -> Response:
    """One survey in canonical JSON with its digest."""
    parameters.none()
    return answer(published(collector().store.surveys.get(survey_id)))


@blueprint.after_request
def from_other_pages(response: Response) -> Response:
    """Let forms on pages of other origins do what answering a survey takes, and nothing else."""
    request = asked()
    if request.endpoint in _FROM_OTHER_PAGES:
        for name, value in (
            _SHARED if request.method != "OPTIONS" else _SHARED | _PREFLIGHT
        ).items():
            response.headers.add(name, value)
    return response


@blueprint.post("/<survey_id>/invitations/check")
def check_invitation(survey_id: str) -> Response:
    """Whether an invitation would let a report in; it is not spent, and nothing is written down.

    It is asked about by its hash: whoever sees the question cannot send a report by it, nor open
    what a sealed report holds beside it.
    """
    parameters.none()
    this = collector()
    hash_ = parameters.body(InvitationCheck).hash
    check_hexadecimal("hash", hash_)
    if this.limit is not None:
        this.limit.check_failures()
    unspent = this.store.invitations.is_unspent(survey_id, bytes.fromhex(hash_))
    if not unspent and this.limit is not None:
        this.limit.record_failures(1)
    return answer(InvitationState(unspent=unspent))


@blueprint.post("/<survey_id>/reports")
def add_reports(survey_id: str) -> Response:
    """Count reports, all of them or none; 202 once the counts are durable.

    This runs in the event loop, so what takes long is done in threads, as transactions are anyway.
    """
    parameters.none()
    this = collector()
    # Reports of this request that were not counted against its address when they were sent; an
    # estimate until it has been read.
    g.unmetered = 1 + (asked().content_length or 0) // _BYTES_OF_REPORT
    try:
        receipt = this.store.reports.count(_receive(survey_id))
    except (StoreUnavailable, TooManyReports):
        raise
    except HalftruthError:
        if this.limit is not None:
            this.limit.record_failures(g.unmetered)
        raise
    if this.limit is not None and receipt.accepted < max(1, g.unmetered):
        # What was counted before, or is nothing at all, can be sent again and again.
        this.limit.record_failures(g.unmetered - receipt.accepted)
    return answer(receipt, 202)


def _receive(survey_id: str) -> Batch:
    """What this request brings to be counted; a refusal is added to those of the survey."""
    this = collector()
    store = this.store
    known = store.surveys.recent(survey_id) or store.surveys.get(survey_id)
    try:
        if this.limit is not None:
            this.limit.check_failures()
        data = parameters.data()
        try:
            return _brought(known, data)
        except MalformedRequest:
            raise
        except HalftruthError:
            # Before a refusal is believed, the survey is read again: it may have changed.
            current = store.surveys.get(survey_id)
            if current == known:
                raise
            return _brought(current, data)
    except StoreUnavailable:
        raise
    except HalftruthError as error:
        store.reports.refuse(survey_id, slug(error))
        raise


def _brought(stored: StoredSurvey, data: bytes) -> Batch:
    """What the body of a request brings to be counted."""
    this = collector()
    sealed = stored.terms.sealing_key is not None
    most = min(this.config.max_batch, _MOST_SEALED) if sealed else this.config.max_batch
    columns = 1 if sealed else len(stored.survey().report_space.shape)
    # Before it is read, since that takes a hundred times the memory of an empty report.
    if data.count(b",") > (most + 1) * (columns + 3):
        raise TooLarge(f"reports: expected at most {most} in one request", field="reports")
    compute = here if len(data) <= _FEW else this.offloading.brief
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
    """Whether no report of a batch is counted without an invitation."""
    if not stored.terms.invitations:
        return False
    # Without an invitation inside, a sealed report cannot be opened on these terms.
    if isinstance(batch, SealedBatch) or all(report.invitation for report in batch.reports):
        return True
    # The survey may ask for none any more: then these reports would be counted, without any limit.
    return collector().store.surveys.get(stored.id).terms.invitations

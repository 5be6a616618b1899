"""What anyone may ask: the surveys, and to count reports."""

from flask import Blueprint, Response
from halftruth_shared import HalftruthError
from halftruth_shared.messages import ReportBatch, SealedBatch, SurveyList, SurveySummary

from ..errors import StoreUnavailable, TooLarge, slug
from ..fibres import elsewhere
from ..intake import submission
from ..store.submissions import Submission, stale
from ..store.surveys import StoredSurvey
from . import parameters
from .context import answer, asked, collector, published

blueprint = Blueprint("respondents", __name__, url_prefix="/v1/surveys")


#: What forms on pages of other origins need.
_FROM_OTHER_PAGES = ("respondents.get_survey", "respondents.add_reports")

#: What lets a page of another origin read an answer, and send the request at all.
_SHARED = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "Retry-After"}
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "86400",
}


@blueprint.get("")
def list_surveys() -> Response:
    """Every survey with its digest."""
    parameters.none()
    return answer(
        SurveyList(
            surveys=[
                SurveySummary(
                    id=stored.id,
                    title=stored.survey().title,
                    digest=stored.digest,
                    status=stored.status,
                )
                for stored in collector().store.surveys.all()
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
    """Let forms on pages of other origins fetch a survey and send a report, and nothing else."""
    request = asked()
    if request.endpoint in _FROM_OTHER_PAGES:
        for name, value in (
            _SHARED if request.method != "OPTIONS" else _SHARED | _PREFLIGHT
        ).items():
            response.headers.add(name, value)
    return response


@blueprint.post("/<survey_id>/reports")
def add_reports(survey_id: str) -> Response:
    """Count reports, all of them or none; 202 once the counts are durable.

    Few of them are counted in a fibre, which must not wait for the database.
    """
    parameters.none()
    surveys = collector().store.surveys
    known = surveys.recent(survey_id) or elsewhere(surveys.get, survey_id)
    try:
        data = parameters.data()
        try:
            brought = _brought(known, data)
        except HalftruthError:
            # Before a refusal is believed, the survey is read again: it may have changed.
            current = elsewhere(surveys.get, survey_id)
            if current == known:
                raise
            brought = _brought(current, data)
    except StoreUnavailable:
        raise
    except HalftruthError as error:
        collector().store.reports.refuse(survey_id, slug(error))
        raise
    return answer(collector().store.reports.count(brought), 202)


def _brought(stored: StoredSurvey, data: bytes) -> Submission:
    """What the body of a request brings to be counted."""
    here = collector()
    batch = parameters.report_batch(data, stored)
    if batch.digest != stored.digest:
        raise stale(stored.id)
    reports = len(batch.reports)
    if reports > here.config.max_batch:
        raise TooLarge(
            f"reports: expected at most {here.config.max_batch} in one request, got {reports}",
            field="reports",
        )
    if here.limit is not None and not _are_limited_by_invitations(stored, batch):
        here.limit.spend(reports)
    return submission(stored, batch, here.sealing_keys)


def _are_limited_by_invitations(stored: StoredSurvey, batch: ReportBatch | SealedBatch) -> bool:
    """Whether no report of a batch is counted without an invitation."""
    if not stored.terms.invitations:
        return False
    # Without an invitation inside, a sealed report cannot be opened on these terms.
    if isinstance(batch, SealedBatch) or all(report.invitation for report in batch.reports):
        return True
    # The survey may ask for none any more: then these reports would be counted, without any limit.
    return elsewhere(collector().store.surveys.get, stored.id).terms.invitations

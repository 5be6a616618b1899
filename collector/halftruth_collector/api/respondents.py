"""What anyone may ask: the surveys, and to count reports."""

import msgspec
from flask import Blueprint, Response, request
from halftruth_shared import HalftruthError
from halftruth_shared.messages import PublishedSurvey, SurveyList, SurveySummary

from ..errors import StoreUnavailable
from . import parameters
from .context import answer, collector
from .problems import slug

blueprint = Blueprint("respondents", __name__, url_prefix="/v1/surveys")


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
    stored = collector().store.surveys.get(survey_id)
    return answer(
        PublishedSurvey(
            survey=msgspec.Raw(stored.document.encode()),
            digest=stored.digest,
            status=stored.status,
        )
    )


@blueprint.after_request
def from_other_pages(response: Response) -> Response:
    """Let forms on pages of other origins fetch a survey and send a report, and nothing else."""
    if request.endpoint in ("respondents.get_survey", "respondents.add_reports"):
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Access-Control-Allow-Methods"] = "GET, POST"
        response.headers["Access-Control-Allow-Headers"] = "Content-Type"
        response.headers["Access-Control-Max-Age"] = "86400"
    return response


@blueprint.post("/<survey_id>/reports")
def add_reports(survey_id: str) -> Response:
    """Count reports, all of them or none; 202 once the counts are durable."""
    parameters.none()
    here = collector()
    survey = here.store.surveys.get(survey_id).survey()
    names = survey.mechanism.report_shape(survey.schema).names
    try:
        batch = parameters.report_batch(names, here.config.max_batch)
        return answer(here.store.reports.add(survey_id, batch.digest, batch.reports), 202)
    except StoreUnavailable:
        raise
    except HalftruthError as error:
        here.store.reports.refuse(survey_id, slug(error))
        raise

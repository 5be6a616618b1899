"""What operators may do over HTTP: publish and close surveys."""

import msgspec
from flask import Blueprint, Response
from halftruth_shared import Survey
from halftruth_shared.messages import PublishedSurvey

from ..store.surveys import StoredSurvey
from . import parameters
from .context import answer, collector, require

blueprint = Blueprint("operators", __name__, url_prefix="/v1/surveys")


@blueprint.before_request
def only_operators() -> None:
    """Every call needs an operator's token."""
    require("operator")


@blueprint.post("")
def publish_survey() -> Response:
    """Publish the survey of the body, in the shape of a survey file."""
    parameters.none()
    survey = Survey.from_json(parameters.body(msgspec.Raw))
    surveys = collector().store.surveys
    surveys.publish(survey)
    return answer(_published(surveys.get(survey.id)), 201)


@blueprint.post("/<survey_id>/close")
def close_survey(survey_id: str) -> Response:
    """Take no more reports."""
    parameters.none()
    surveys = collector().store.surveys
    surveys.close(survey_id)
    return answer(_published(surveys.get(survey_id)))


def _published(stored: StoredSurvey) -> PublishedSurvey:
    return PublishedSurvey(
        survey=msgspec.Raw(stored.document.encode()), digest=stored.digest, status=stored.status
    )

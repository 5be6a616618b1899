"""What operators may do over HTTP: publish and close surveys, and say how reports are taken."""

import msgspec
from flask import Blueprint, Response, g
from halftruth_shared import ParameterError, Survey
from halftruth_shared.protocol.terms import SignedTerms

from .. import parameters
from ..context import answer, collector, published, require

blueprint = Blueprint("operators", __name__, url_prefix="/v1/surveys")


@blueprint.before_request
def only_operators() -> None:
    """Every call needs an operator's token."""
    g.actor = f"token {require('operator').id}"


@blueprint.post("")
def publish_survey() -> Response:
    """Publish the survey of the body, in the shape of a survey file."""
    parameters.none()
    survey = Survey.from_json(parameters.body(msgspec.Raw))
    surveys = collector().store.surveys
    surveys.publish(survey, actor=g.actor)
    return answer(published(surveys.get(survey.id)), 201)


@blueprint.post("/<survey_id>/close")
def close_survey(survey_id: str) -> Response:
    """Take no more reports."""
    parameters.none()
    surveys = collector().store.surveys
    surveys.close(survey_id, actor=g.actor)
    return answer(published(surveys.get(survey_id)))


@blueprint.put("/<survey_id>/terms")
def set_terms(survey_id: str) -> Response:
    """Say how reports are taken from now on: invited, sealed, and signed by whom."""
    parameters.none()
    new = parameters.body(SignedTerms)
    keys = collector().sealing_keys
    key = new.terms.sealing_key
    if key is not None and (keys is None or key not in keys.public):
        raise ParameterError(
            "sealing_key: expected a public key of this collector's sealing keys, or null",
            field="sealing_key",
        )
    surveys = collector().store.surveys
    surveys.set_terms(survey_id, new.terms, new.signature, actor=g.actor)
    return answer(published(surveys.get(survey_id)))

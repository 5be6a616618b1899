"""What operators may do with surveys over HTTP, from publishing them to their deletion."""

import msgspec
from flask import Blueprint, Response, g
from halftruth_shared import Survey
from halftruth_shared.protocol.terms import TermsChange

from ...store.invitations import InvitationCount
from ...store.retention import Deleted
from ...store.states import SurveyState
from .. import operating, parameters
from ..context import answer, collector, published, require
from ..messages import (
    InvitationRequest,
    IssuedInvitations,
    Listing,
    PublishQuery,
    Purged,
    PurgeRequest,
    SurveyStates,
    Withdrawn,
)

blueprint = Blueprint("operators", __name__, url_prefix="/v1")


@blueprint.before_request
def only_operators() -> None:
    """Every call needs an operator's token."""
    g.actor = f"token {require('operator').id}"


@blueprint.post("/surveys")
def publish_survey() -> Response:
    """Publish the survey of the body, in the shape of a survey file."""
    unlisted = parameters.query(PublishQuery).unlisted
    survey = Survey.from_json(parameters.body(msgspec.Raw))
    surveys = collector().store.surveys
    surveys.publish(survey, listed=False if unlisted else None, actor=g.actor)
    return answer(published(surveys.get(survey.id)), 201)


@blueprint.get("/states")
def get_states() -> Response:
    """How every survey is doing."""
    parameters.none()
    return answer(SurveyStates(surveys=collector().store.states()))


@blueprint.get("/surveys/<survey_id>/state")
def get_state(survey_id: str) -> Response:
    """How one survey is doing."""
    parameters.none()
    return answer(_state(survey_id))


@blueprint.post("/surveys/<survey_id>/close")
def close_survey(survey_id: str) -> Response:
    """Take no more reports."""
    parameters.none()
    surveys = collector().store.surveys
    surveys.close(survey_id, actor=g.actor)
    return answer(published(surveys.get(survey_id)))


@blueprint.post("/surveys/<survey_id>/reopen")
def reopen_survey(survey_id: str) -> Response:
    """Take reports again, where there was none yet."""
    parameters.none()
    surveys = collector().store.surveys
    surveys.reopen(survey_id, actor=g.actor)
    return answer(published(surveys.get(survey_id)))


@blueprint.patch("/surveys/<survey_id>/terms")
def set_terms(survey_id: str) -> Response:
    """Change how reports are taken from now on: invited, sealed, and signed by whom."""
    parameters.none()
    change = parameters.body(TermsChange)
    operating.set_terms(survey_id, change.changes(), change.signature, g.actor)
    return answer(published(collector().store.surveys.get(survey_id)))


@blueprint.put("/surveys/<survey_id>/listing")
def set_listing(survey_id: str) -> Response:
    """Tell everyone of a survey, or only those who know its address."""
    parameters.none()
    listed = parameters.body(Listing).listed
    collector().store.surveys.set_listed(survey_id, listed, actor=g.actor)
    return answer(_state(survey_id))


@blueprint.delete("/surveys/<survey_id>")
def delete_survey(survey_id: str) -> Response:
    """Delete a survey with everything that there is of it."""
    parameters.none()
    done: Deleted = collector().store.retention.delete(survey_id, actor=g.actor)
    return answer(done)


@blueprint.get("/surveys/<survey_id>/invitations")
def count_invitations(survey_id: str) -> Response:
    """Count invitations; which of them were used is not known."""
    parameters.none()
    count: InvitationCount = collector().store.invitations.count(survey_id)
    return answer(count)


@blueprint.post("/surveys/<survey_id>/invitations")
def create_invitations(survey_id: str) -> Response:
    """Issue invitations, each of which lets one report in."""
    parameters.none()
    count = parameters.body(InvitationRequest).count
    made = collector().store.invitations.create(survey_id, count, actor=g.actor)
    return answer(IssuedInvitations(invitations=made), 201)


@blueprint.post("/surveys/<survey_id>/invitations/revoke")
def revoke_invitations(survey_id: str) -> Response:
    """Make all invitations useless that nobody used."""
    parameters.none()
    done = collector().store.invitations.revoke(survey_id, actor=g.actor)
    return answer(Withdrawn(withdrawn=done))


@blueprint.post("/purge")
def purge() -> Response:
    """Delete ids and unused invitations of surveys that ended long enough ago."""
    parameters.none()
    days = parameters.body(PurgeRequest).closed_for
    return answer(Purged(surveys=collector().store.retention.purge(days, actor=g.actor)))


def _state(survey_id: str) -> SurveyState:
    return collector().store.state(survey_id)

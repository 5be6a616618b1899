"""Calls of operators about surveys, from publishing them to their deletion."""

from flask import g
from halftruth_shared import DomainTooLarge, ParameterError, SchemaError, Survey, SurveyError
from halftruth_shared.protocol.surveys import PublishedSurvey
from halftruth_shared.protocol.terms import TermsChange

from ...errors import SignatureRefused, SurveyClosed, SurveyExists
from ...store.invitations import InvitationCount
from ...store.retention import Deleted
from ...store.surveys import SurveyState
from ..calls import OPERATORS
from ..context import collector, published
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
from .access import list_sealing_keys


@OPERATORS.call(
    "POST",
    "/v1/surveys",
    body=Survey,
    query=PublishQuery,
    answer=PublishedSurvey,
    status=201,
    errors=(SurveyExists, SurveyError, SchemaError, DomainTooLarge),
)
def publish_survey(survey: Survey, asked: PublishQuery) -> PublishedSurvey:
    """Publish a survey.

    Replaces a survey of the same id that has no report yet. Publishing the very same survey again
    changes nothing.
    """
    listed = False if asked.unlisted else None
    collector().store.surveys.publish(survey, listed=listed, actor=g.actor)
    return published(survey.id)


@OPERATORS.call("GET", "/v1/states", answer=SurveyStates)
def get_states() -> SurveyStates:
    """See how all surveys are doing.

    Unlisted ones, too.
    """
    return SurveyStates(surveys=collector().store.surveys.states())


@OPERATORS.call("GET", "/v1/surveys/<survey_id>/state", answer=SurveyState)
def get_state(survey_id: str) -> SurveyState:
    """See how a survey is doing."""
    return collector().store.surveys.state(survey_id)


@OPERATORS.call("POST", "/v1/surveys/<survey_id>/close", answer=PublishedSurvey)
def close_survey(survey_id: str) -> PublishedSurvey:
    """Close a survey.

    It takes no more reports. Closing it again changes nothing.
    """
    collector().store.surveys.close(survey_id, actor=g.actor)
    return published(survey_id)


@OPERATORS.call(
    "POST", "/v1/surveys/<survey_id>/reopen", answer=PublishedSurvey, errors=(SurveyClosed,)
)
def reopen_survey(survey_id: str) -> PublishedSurvey:
    """Reopen a survey.

    It takes reports again, unless it has some: then its end is final. Reopening an open survey
    changes nothing.
    """
    _check_known(collector().store.surveys.get(survey_id).terms.sealing_key)
    collector().store.surveys.reopen(survey_id, actor=g.actor)
    return published(survey_id)


@OPERATORS.call("DELETE", "/v1/surveys/<survey_id>", answer=Deleted)
def delete_survey(survey_id: str) -> Deleted:
    """Delete a survey.

    With its reports, their ids and counts, its invitations, and the tokens that are for it alone.
    Nothing brings them back but a back-up, and back-ups keep what they hold.
    """
    return collector().store.retention.delete(survey_id, actor=g.actor)


@OPERATORS.call("PUT", "/v1/surveys/<survey_id>/listing", body=Listing, answer=SurveyState)
def set_listing(listing: Listing, survey_id: str) -> SurveyState:
    """List or unlist a survey.

    An unlisted survey is answered by those who know its address.
    """
    collector().store.surveys.set_listed(survey_id, listing.listed, actor=g.actor)
    return get_state(survey_id)


@OPERATORS.call(
    "PATCH",
    "/v1/surveys/<survey_id>/terms",
    body=TermsChange,
    answer=PublishedSurvey,
    errors=(SignatureRefused,),
)
def set_terms(change: TermsChange, survey_id: str) -> PublishedSurvey:
    """Change how reports are taken.

    Terms that are absent stay. Reports are sealed to a key of this collector only. The signature is
    the operator's, of the survey's digest with all terms.
    """
    changes = change.changes()
    _check_known(changes.get("sealing_key"))
    collector().store.surveys.set_terms(survey_id, changes, change.signature, actor=g.actor)
    return published(survey_id)


@OPERATORS.call("GET", "/v1/surveys/<survey_id>/invitations", answer=InvitationCount)
def count_invitations(survey_id: str) -> InvitationCount:
    """Count invitations.

    Which of them were used is not known.
    """
    return collector().store.invitations.count(survey_id)


@OPERATORS.call(
    "POST",
    "/v1/surveys/<survey_id>/invitations",
    body=InvitationRequest,
    answer=IssuedInvitations,
    status=201,
)
def create_invitations(asked: InvitationRequest, survey_id: str) -> IssuedInvitations:
    """Issue invitations.

    Each lets one report in. A person's address is `/s/{survey_id}#invitation=` with theirs behind
    it.
    """
    made = collector().store.invitations.create(survey_id, asked.count, actor=g.actor)
    return IssuedInvitations(invitations=made)


@OPERATORS.call("POST", "/v1/surveys/<survey_id>/invitations/revoke", answer=Withdrawn)
def revoke_invitations(survey_id: str) -> Withdrawn:
    """Withdraw invitations.

    All that nobody used.
    """
    return Withdrawn(withdrawn=collector().store.invitations.revoke(survey_id, actor=g.actor))


@OPERATORS.call("POST", "/v1/purge", body=PurgeRequest, answer=Purged)
def purge(asked: PurgeRequest) -> Purged:
    """Purge surveys that have ended.

    By an operator, their deadline or their quota. Deletes the ids of their reports and their
    unused invitations; the counts stay. A client that sends one of their reports again is told that
    the survey is closed, though the report had been counted.
    """
    return Purged(surveys=collector().store.retention.purge(asked.closed_for, actor=g.actor))


def _check_known(key: object) -> None:
    """Make sure that this collector opens what is sealed to a key."""
    if key not in (None, *list_sealing_keys().keys):
        raise ParameterError(
            "sealing_key: expected a public key of this collector's sealing keys, or null",
            field="sealing_key",
        )

"""Calls of operators: surveys, invitations, tokens, keys and the audit log."""

from pathlib import Path

from halftruth_shared import DomainTooLarge, ParameterError, SchemaError, Survey, SurveyError
from halftruth_shared.protocol.surveys import PublishedSurvey
from halftruth_shared.protocol.terms import TermsChange

from ... import operations
from ...errors import SignatureRefused, SurveyClosed, SurveyExists, UnknownSurvey
from ...store.invitations import InvitationCount
from ...store.retention import Deleted
from ...store.surveys import SurveyState
from ..calls import OPERATORS
from ..context import collector, get_published
from ..messages import (
    AuditLogPage,
    AuditQuery,
    Confirmation,
    InvitationRequest,
    IssuedInvitations,
    KeyList,
    Listing,
    NewToken,
    PublishQuery,
    Purged,
    PurgeRequest,
    SealingKeyList,
    SurveyStates,
    TokenList,
    TokenRequest,
    Unsigned,
    Withdrawn,
)


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

    Replaces a survey with the same id, if that has no reports. Publishing an identical survey again
    changes nothing.
    """
    listed = False if asked.unlisted else None
    operations.publish_survey(collector().store, survey, listed=listed)
    return get_published(survey.id)


@OPERATORS.call("GET", "/v1/states", answer=SurveyStates)
def get_states() -> SurveyStates:
    """Get the state of all surveys, including unlisted ones."""
    return SurveyStates(surveys=collector().store.surveys.states())


@OPERATORS.call("GET", "/v1/surveys/<survey_id>/state", answer=SurveyState)
def get_state(survey_id: str) -> SurveyState:
    """Get the state of a survey."""
    return collector().store.surveys.state(survey_id)


@OPERATORS.call("POST", "/v1/surveys/<survey_id>/close", query=Confirmation, answer=PublishedSurvey)
def close_survey(asked: Confirmation, survey_id: str) -> PublishedSurvey:
    """Close a survey.

    It accepts no more reports. With reports this is final, and has to be confirmed. Closing it
    again changes nothing.
    """
    operations.close_survey(collector().store, survey_id, confirm=asked.confirm)
    return get_published(survey_id)


@OPERATORS.call(
    "POST", "/v1/surveys/<survey_id>/reopen", answer=PublishedSurvey, errors=(SurveyClosed,)
)
def reopen_survey(survey_id: str) -> PublishedSurvey:
    """Reopen a survey.

    Only a survey without reports can be reopened. Reopening an open survey changes nothing.
    """
    operations.reopen_survey(collector().store, survey_id)
    return get_published(survey_id)


@OPERATORS.call("DELETE", "/v1/surveys/<survey_id>", query=Confirmation, answer=Deleted)
def delete_survey(asked: Confirmation, survey_id: str) -> Deleted:
    """Delete a survey.

    This also deletes its reports, their ids and counts, its invitations, and the tokens restricted
    to it. Only a back-up can restore them; existing back-ups still contain them. It has to be
    confirmed.
    """
    return operations.delete_survey(collector().store, survey_id, confirm=asked.confirm)


@OPERATORS.call("PUT", "/v1/surveys/<survey_id>/listing", body=Listing, answer=SurveyState)
def set_listing(listing: Listing, survey_id: str) -> SurveyState:
    """List or unlist a survey.

    An unlisted survey can be answered by anyone who knows its URL.
    """
    operations.set_listing(collector().store, survey_id, listing.listed)
    return get_state(survey_id)


@OPERATORS.call(
    "PATCH",
    "/v1/surveys/<survey_id>/terms",
    body=TermsChange,
    answer=PublishedSurvey,
    errors=(SignatureRefused,),
)
def set_terms(change: TermsChange, survey_id: str) -> PublishedSurvey:
    """Change the terms of a survey.

    Absent terms stay unchanged. The sealing key must be a key of this collector. The signature is
    by an operator, and covers the digest of the survey and all terms.
    """
    this = collector()
    operations.set_terms(this.store, survey_id, change.changes(), change.signature)
    return get_published(survey_id)


@OPERATORS.call("GET", "/v1/surveys/<survey_id>/invitations", answer=InvitationCount)
def count_invitations(survey_id: str) -> InvitationCount:
    """Count invitations.

    The collector does not record which of them were used.
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

    Each invitation admits one report. The URL for a person is `/s/{survey_id}#invitation=`,
    followed by the invitation.
    """
    made = operations.create_invitations(collector().store, survey_id, asked.count)
    return IssuedInvitations(invitations=made)


@OPERATORS.call(
    "POST",
    "/v1/surveys/<survey_id>/invitations/revoke",
    query=Confirmation,
    answer=Withdrawn,
)
def revoke_invitations(asked: Confirmation, survey_id: str) -> Withdrawn:
    """Withdraw all unused invitations.

    If there are any, it has to be confirmed.
    """
    count = operations.revoke_invitations(collector().store, survey_id, confirm=asked.confirm)
    return Withdrawn(withdrawn=count)


@OPERATORS.call("POST", "/v1/purge", body=PurgeRequest, query=Confirmation, answer=Purged)
def purge(chosen: PurgeRequest, asked: Confirmation) -> Purged:
    """Purge ended surveys.

    A survey ends when it is closed, at its deadline, or when its quota is full. The ids of its
    reports and its unused invitations are deleted; the counts are kept. If there are any, it has to
    be confirmed. A client that repeats a counted report receives the error that the survey is
    closed.
    """
    done = operations.purge(collector().store, chosen.closed_for, confirm=asked.confirm)
    return Purged(surveys=done)


@OPERATORS.call("GET", "/v1/tokens", answer=TokenList)
def list_tokens() -> TokenList:
    """List tokens."""
    return TokenList(tokens=collector().store.tokens.all())


@OPERATORS.call(
    "POST",
    "/v1/tokens",
    body=TokenRequest,
    answer=NewToken,
    status=201,
    errors=(UnknownSurvey,),
)
def create_token(new: TokenRequest) -> NewToken:
    """Create a token."""
    store = collector().store
    token = operations.create_token(store, new.role, new.survey, name=new.name, expires=new.expires)
    return NewToken(token=token, known=store.tokens.bearer(token))


@OPERATORS.call("POST", "/v1/tokens/<token_id>/revoke", answer=TokenList)
def revoke_token(token_id: str) -> TokenList:
    """Revoke a token.

    Revoking it again changes nothing.
    """
    operations.revoke_token(collector().store, token_id)
    return list_tokens()


@OPERATORS.call("GET", "/v1/keys", answer=KeyList)
def list_keys() -> KeyList:
    """List the public keys of operators."""
    return KeyList(keys=collector().store.keys.all())


@OPERATORS.call("POST", "/v1/keys/<key>/revoke", query=Confirmation, answer=Unsigned)
def revoke_key(asked: Confirmation, key: str) -> Unsigned:
    """Revoke a public key of an operator.

    Its signatures are not served any more, and new ones are refused. It has to be confirmed.
    """
    done = operations.revoke_key(collector().store, key, confirm=asked.confirm)
    return Unsigned(surveys=done)


@OPERATORS.call("GET", "/v1/sealing-keys", answer=SealingKeyList)
def list_sealing_keys() -> SealingKeyList:
    """List the sealing keys in the file of this collector."""
    return SealingKeyList(keys=list(collector().known_keys()))


@OPERATORS.call("POST", "/v1/sealing-keys", answer=SealingKeyList, status=201)
def create_sealing_key() -> SealingKeyList:
    """Create a sealing key.

    It is added to the file of this collector. Surveys use it after their terms name it.
    """
    operations.create_sealing_key(collector().store, _key_file())
    return list_sealing_keys()


@OPERATORS.call("POST", "/v1/sealing-keys/<key>/retire", query=Confirmation, answer=SealingKeyList)
def retire_sealing_key(asked: Confirmation, key: str) -> SealingKeyList:
    """Retire a sealing key.

    It is removed from the file, and reports sealed to it can never be opened again. The call is
    refused while the key is used by a survey that is open, or that can be reopened because it has
    no reports. It has to be confirmed.
    """
    store = collector().store
    operations.retire_sealing_key(store, _key_file(), key, confirm=asked.confirm)
    return list_sealing_keys()


@OPERATORS.call("GET", "/v1/audit-log", query=AuditQuery, answer=AuditLogPage)
def get_audit_log(asked: AuditQuery) -> AuditLogPage:
    """Read the audit log.

    Actions of operators, newest first.
    """
    return AuditLogPage(entries=collector().store.audit.latest(asked.most, asked.before))


def _key_file() -> Path:
    file = collector().key_file
    if file is None:
        raise ParameterError(
            "sealing_keys: this collector has no file for them; an operator creates one with"
            " 'halftruth admin sealing-key create' and names it in HALFTRUTH_SEALING_KEYS",
            field="sealing_keys",
        )
    return file.path

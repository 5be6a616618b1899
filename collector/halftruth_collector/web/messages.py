"""Messages between operators and a collector, over HTTP and from the forms of pages."""

from datetime import date
from typing import Annotated

from halftruth_shared.protocol.base import Invitation, Message, PublicKey, Request, prepare
from msgspec import Meta

from ..operations import MOST_DAYS
from ..store.audit import AuditEntry
from ..store.keys import KnownKey
from ..store.retention import KEEP_DAYS, Deleted
from ..store.surveys import SurveyState
from ..store.tokens import Role, StoredToken

#: Most invitations and entries of one answer.
MOST_INVITATIONS, MOST_ENTRIES = 100_000, 1_000


class Health(Message, frozen=True, kw_only=True):
    """State of the collector."""

    status: str


class SurveyStates(Message, frozen=True, kw_only=True):
    """State of every survey."""

    surveys: list[SurveyState]


class PublishQuery(Request, frozen=True, kw_only=True):
    """Options of publishing a survey."""

    unlisted: Annotated[
        bool, Meta(description="Whether only those are told of it who know its address.")
    ] = False


class Listing(Request, frozen=True, kw_only=True):
    """Listing of a survey on the front page."""

    listed: Annotated[bool, Meta(description="Or only those who know its address.")]


class InvitationRequest(Request, frozen=True, kw_only=True):
    """New invitations to a survey."""

    count: Annotated[int, Meta(ge=1, le=MOST_INVITATIONS, description="How many.")]


class IssuedInvitations(Message, frozen=True, kw_only=True):
    """New invitations, which are not stored and cannot be shown again."""

    invitations: list[Invitation]


class Withdrawn(Message, frozen=True, kw_only=True):
    """Invitations that nobody can use any more."""

    withdrawn: Annotated[int, Meta(description="How many there were.")]


class PurgeRequest(Request, frozen=True, kw_only=True):
    """Age of the surveys to be purged."""

    closed_for: Annotated[
        int, Meta(ge=0, le=MOST_DAYS, description="Surveys that ended so many days ago.")
    ] = KEEP_DAYS


class Purged(Message, frozen=True, kw_only=True):
    """Purged data, survey by survey."""

    surveys: list[Deleted]


class TokenRequest(Request, frozen=True, kw_only=True):
    """A new token."""

    role: Annotated[Role, Meta(description="What it is for.")]
    survey: (
        Annotated[str, Meta(description="The only survey it is for: a relay's, or an analyst's.")]
        | None
    ) = None
    name: (
        Annotated[
            str,
            Meta(min_length=1, max_length=100, description="Whose it is or what it is for."),
        ]
        | None
    ) = None
    expires: Annotated[date, Meta(description="The last day (UTC) on which it is good.")] | None = (
        None
    )


class NewToken(Message, frozen=True, kw_only=True):
    """A new token, which is not stored and cannot be shown again."""

    token: str
    known: StoredToken


class TokenList(Message, frozen=True, kw_only=True):
    """Every token, oldest first; the tokens themselves are not stored."""

    tokens: list[StoredToken]


class KeyList(Message, frozen=True, kw_only=True):
    """Operators' public keys that signed a survey or were revoked."""

    keys: list[KnownKey]


class Unsigned(Message, frozen=True, kw_only=True):
    """Result of revoking a key."""

    surveys: Annotated[list[str], Meta(description="Surveys that are not signed any more.")]


class SealingKeyList(Message, frozen=True, kw_only=True):
    """Public keys that reports can be sealed to, newest first."""

    keys: list[PublicKey]


class AuditQuery(Request, frozen=True, kw_only=True):
    """Selection of entries of the audit log."""

    before: (
        Annotated[int, Meta(ge=1, description="Those with a smaller number than this.")] | None
    ) = None
    most: Annotated[
        int, Meta(ge=1, le=MOST_ENTRIES, description="How many, the last one first.")
    ] = 100


class AuditLogPage(Message, frozen=True, kw_only=True):
    """Entries of the audit log, the last one first."""

    entries: list[AuditEntry]


prepare(Message)
prepare(Request)

"""Messages between operators and a collector, over HTTP and from forms of pages."""

from datetime import date
from typing import Annotated

from halftruth_shared.protocol.base import Invitation, Message, PublicKey, Request, prepare
from msgspec import Meta

from ..confirmation import EVERY
from ..operations import MOST_DAYS
from ..store.audit import AuditEntry
from ..store.keys import KnownKey
from ..store.retention import KEEP_DAYS, Deleted
from ..store.surveys import SurveyState
from ..store.tokens import Role, StoredToken

#: Largest number of invitations and of log entries in one response.
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
        bool, Meta(description="Whether to publish it unlisted, reachable by its address only.")
    ] = False


class Listing(Request, frozen=True, kw_only=True):
    """Listing of a survey on the front page."""

    listed: Annotated[bool, Meta(description="Whether the front page lists the survey.")]


class Confirmation(Request, frozen=True, kw_only=True):
    """Confirmation of a final action."""

    confirm: (
        Annotated[
            str,
            Meta(
                description="Repeats the id of the survey, or the key, that the call is about. For"
                f" a purge: the ids of all surveys, with commas, or `{EVERY}`."
            ),
        ]
        | None
    ) = None


class InvitationRequest(Request, frozen=True, kw_only=True):
    """New invitations to a survey."""

    count: Annotated[int, Meta(ge=1, le=MOST_INVITATIONS, description="Number of invitations.")]


class IssuedInvitations(Message, frozen=True, kw_only=True):
    """New invitations, which are not stored and cannot be shown again."""

    invitations: list[Invitation]


class Withdrawn(Message, frozen=True, kw_only=True):
    """Withdrawn invitations."""

    withdrawn: Annotated[int, Meta(description="Number of withdrawn invitations.")]


class PurgeRequest(Request, frozen=True, kw_only=True):
    """Minimum age of the surveys to be purged."""

    closed_for: Annotated[
        int, Meta(ge=0, le=MOST_DAYS, description="Days since the end of a survey, at least.")
    ] = KEEP_DAYS


class Purged(Message, frozen=True, kw_only=True):
    """Purged data, by survey."""

    surveys: list[Deleted]


class TokenRequest(Request, frozen=True, kw_only=True):
    """A new token."""

    role: Annotated[Role, Meta(description="Role of the token.")]
    survey: (
        Annotated[str, Meta(description="Restrict a relay or an analyst to this survey.")] | None
    ) = None
    name: (
        Annotated[
            str,
            Meta(min_length=1, max_length=100, description="Owner or purpose of the token."),
        ]
        | None
    ) = None
    expires: Annotated[date, Meta(description="Last day of validity (UTC).")] | None = None


class NewToken(Message, frozen=True, kw_only=True):
    """A new token, which is not stored and cannot be shown again."""

    token: str
    known: StoredToken


class TokenList(Message, frozen=True, kw_only=True):
    """All tokens, oldest first; the tokens themselves are not stored."""

    tokens: list[StoredToken]


class KeyList(Message, frozen=True, kw_only=True):
    """Public keys of operators that signed a survey or were revoked."""

    keys: list[KnownKey]


class Unsigned(Message, frozen=True, kw_only=True):
    """Result of revoking a key."""

    surveys: Annotated[list[str], Meta(description="Surveys that have lost their signature.")]


class SealingKeyList(Message, frozen=True, kw_only=True):
    """Public keys for sealed reports, newest first."""

    keys: list[PublicKey]


class AuditQuery(Request, frozen=True, kw_only=True):
    """Selection of entries of the audit log."""

    before: Annotated[int, Meta(ge=1, description="Only entries with a smaller number.")] | None = (
        None
    )
    most: Annotated[
        int, Meta(ge=1, le=MOST_ENTRIES, description="Largest number of entries, newest first.")
    ] = 100


class AuditLogPage(Message, frozen=True, kw_only=True):
    """Entries of the audit log, newest first."""

    entries: list[AuditEntry]


prepare(Message)
prepare(Request)

"""Invitations, each for one report."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Annotated

from halftruth_shared import ParameterError
from halftruth_shared.protocol.base import Invitation, Message, Request
from msgspec import Meta
from sqlalchemy import delete

from ..collector_store import Store
from ..confirmation import require
from ..store.invitations import InvitationCount, hash_invitation
from ..store.reports import add_invitations, delete_invitations
from ..store.retention import count_purged
from ..store.surveys import SurveyState, find, update_survey
from ..store.tables import invitations, surveys
from .base import SURVEY, Call, Command, Form, Offer, Table, action, number

#: Size of an invitation in bytes.
_INVITATION_SIZE = 16

#: Largest number of invitations of one action, and of one call.
_MOST, MOST_OF_CALL = 1_000_000, 100_000


class InvitationRequest(Request, frozen=True, kw_only=True):
    """New invitations to a survey."""

    count: Annotated[int, Meta(ge=1, le=MOST_OF_CALL, description="Number of invitations.")]


class IssuedInvitations(Message, frozen=True, kw_only=True):
    """New invitations, which are not stored and cannot be shown again."""

    invitations: list[Invitation]


class Withdrawn(Message, frozen=True, kw_only=True):
    """Withdrawn invitations."""

    withdrawn: Annotated[int, Meta(description="Number of withdrawn invitations.")]


@action(
    about=SURVEY,
    call=Call("GET", "/v1/surveys/<survey_id>/invitations", InvitationCount),
    command=Command(
        "survey invite list",
        Table(
            ("survey", "issued", "used", "withdrawn", "unused"),
            lambda done: [done],
            lambda done: (
                done.subject,
                done.result.issued,
                done.result.used,
                done.result.withdrawn,
                done.result.unused,
            ),
        ),
    ),
    undone="it reads",
)
def count_invitations(store: Store, id: str) -> InvitationCount:
    """Count invitations.

    The collector does not record which of them were used.
    """
    return store.invitations.count(id)


@action(
    "invite create",
    about=SURVEY,
    arguments=InvitationRequest,
    call=Call(
        "POST",
        "/v1/surveys/<survey_id>/invitations",
        IssuedInvitations,
        answered=lambda store, id, made: IssuedInvitations(invitations=made),
        status=201,
    ),
    command=Command("survey invite create"),
    undone="invitations can be withdrawn",
)
def create_invitations(store: Store, id: str, count: int) -> list[str]:
    """Issue invitations.

    Each invitation admits one report. The URL for a person is `/s/{survey_id}#invitation=`,
    followed by the invitation. Only hashes are stored, so they cannot be shown again.
    """
    if not 1 <= count <= _MOST:
        raise ParameterError(f"count: expected 1 to {_MOST} invitations", field="count")
    made = [secrets.token_bytes(_INVITATION_SIZE) for _ in range(count)]
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        add_invitations(connection, stored.number, map(hash_invitation, made))
        update_survey(connection, stored, invited=surveys.c.invited + count)
        create_invitations.log(store, connection, id, f"{count} invitations")
    return [invitation.hex() for invitation in made]


def _offer_withdraw(state: SurveyState) -> Offer | None:
    if not state.unused:
        return None
    return Offer(
        "Withdrawn invitations are not accepted any more, and cannot be issued again.",
        "Withdraw all unused invitations",
        "withdraw all that are unused",
    )


@action(
    "invite revoke",
    about=SURVEY,
    call=Call(
        "POST",
        "/v1/surveys/<survey_id>/invitations/revoke",
        Withdrawn,
        answered=lambda store, id, count: Withdrawn(withdrawn=count),
    ),
    command=Command("survey invite revoke"),
    form=Form("withdraw", "Invitations", _offer_withdraw),
)
def revoke_invitations(
    store: Store,
    id: str,
    chosen: Iterable[bytes] | None = None,
    *,
    confirm: str | None = None,
) -> int:
    """Withdraw all unused invitations.

    If there are any, it has to be confirmed.

    Parameters
    ----------
    store : Store
    id : str
    chosen : iterable of bytes, optional
        The invitations to withdraw, by default all; these need not be confirmed.
    confirm : str, optional

    Returns
    -------
    int
        Number of withdrawn invitations.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        if chosen is None:
            if unused := count_purged(connection, stored).invitations:
                reason = f"{number(unused, 'unused invitation')} would not be accepted any more"
                require(confirm, id, reason=reason, done="withdrawn")
            statement = delete(invitations).where(invitations.c.survey == stored.number)
            count = connection.execute(statement).rowcount
        else:
            hashes = {hash_invitation(invitation) for invitation in chosen}
            count = delete_invitations(connection, stored.number, hashes)
        update_survey(connection, stored, withdrawn=surveys.c.withdrawn + count)
        revoke_invitations.log(store, connection, id, f"{count} invitations")
    return count

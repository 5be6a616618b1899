"""Invitations: single-use tokens, each of which lets one report in."""

from __future__ import annotations

import hashlib
import secrets

from halftruth_shared import ParameterError
from halftruth_shared.protocol.base import Message
from sqlalchemy import exists, select, update

from .audit import AuditLog
from .database import Database
from .reports import add_invitations, delete_invitations
from .surveys import SurveyStore, find
from .tables import invitations, surveys

#: Bytes of an invitation.
_SIZE = 16

#: Most invitations of one call.
_MOST = 1_000_000


class InvitationCount(Message, frozen=True, kw_only=True):
    """Numbers of a survey's invitations that were issued, used, withdrawn, and are still good."""

    issued: int
    used: int
    withdrawn: int
    unused: int


class InvitationStore:
    """Issues, counts and withdraws invitations.

    Only the hash of an invitation is stored, and its row is deleted in the transaction that counts
    the report that it let in. Of a survey that there is not, UnknownSurvey is raised.
    """

    def __init__(self, database: Database, audit: AuditLog, surveys: SurveyStore) -> None:
        self._database = database
        self._audit = audit
        self._surveys = surveys

    def create(self, survey_id: str, count: int, *, actor: str | None = None) -> list[str]:
        """New invitations, which are not stored and cannot be shown again.

        Raises
        ------
        ParameterError
            If there would be none, or more than a million.
        """
        if not 1 <= count <= _MOST:
            raise ParameterError(f"count: expected 1 to {_MOST} invitations", field="count")
        made = [secrets.token_bytes(_SIZE) for _ in range(count)]
        hashes = [hash_invitation(invitation) for invitation in made]
        with self._database.writing() as connection:
            number = find(connection, survey_id).number
            add_invitations(connection, number, hashes)
            changed = connection.execute(
                update(surveys)
                .where(surveys.c.number == number)
                .values(invited=surveys.c.invited + count)
            )
            if not changed.rowcount:
                # It was deleted meanwhile, and these rows would be nobody's.
                find(connection, survey_id)
            detail = f"{count} invitations"
            self._audit.record(connection, "invite create", survey_id, detail, actor=actor)
        return [invitation.hex() for invitation in made]

    def count(self, survey_id: str) -> InvitationCount:
        """Numbers of a survey's invitations."""
        state = self._surveys.state(survey_id)
        return InvitationCount(
            issued=state.invited,
            used=state.invited - state.withdrawn - state.unused,
            withdrawn=state.withdrawn,
            unused=state.unused,
        )

    def is_unused(self, survey_id: str, hash_: bytes) -> bool:
        """True if an invitation would let a report in now; nothing is kept of the question."""
        with self._database.reading_reports() as connection:
            number = find(connection, survey_id).number
            where = (invitations.c.survey == number, invitations.c.hash == hash_)
            return connection.execute(select(exists().where(*where))).scalar_one()

    def revoke(
        self, survey_id: str, chosen: list[bytes] | None = None, *, actor: str | None = None
    ) -> int:
        """Make invitations useless that nobody used; all of them, or those chosen.

        Returns
        -------
        int
            How many there were.
        """
        with self._database.writing() as connection:
            number = find(connection, survey_id, lock=True).number
            if chosen is None:
                done = connection.execute(
                    invitations.delete().where(invitations.c.survey == number)
                ).rowcount
            else:
                hashes = {hash_invitation(invitation) for invitation in chosen}
                done = delete_invitations(connection, number, hashes)
            connection.execute(
                update(surveys)
                .where(surveys.c.number == number)
                .values(withdrawn=surveys.c.withdrawn + done)
            )
            detail = f"{done} invitations"
            self._audit.record(connection, "invite revoke", survey_id, detail, actor=actor)
        return done


def hash_invitation(invitation: bytes) -> bytes:
    """Hash of an invitation, as it is stored; nobody can search 2¹²⁸ of them for a given one."""
    return hashlib.sha256(invitation).digest()
